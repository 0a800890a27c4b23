// The Boost.JSON library itself, compiled here and nowhere else: others include <boost/json.hpp>.
#include <boost/json/src.hpp>
