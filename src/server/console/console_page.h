/// ConsolePage: the files of the console (src/server/console/page/), which the build puts into the
/// program. They are the same for everybody and ask nothing of other sites; a browser that shows
/// them is told to allow neither that nor scripts between the lines.
#pragma once

#include "server/http_message.h"
#include "server/router.h"

namespace skald::server {

/// The file of a route that is one of the console's.
HttpResponse ConsolePage(Route route);

}  // namespace skald::server
