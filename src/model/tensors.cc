#include "model/tensors.h"

#include <utility>

namespace skald::model {

void TensorList::Matrix(std::string_view name, int64_t rows, int64_t cols,
                        kernels::PackedMatrix* place, Presence presence) {
  slots_.push_back({.name = prefix_ + std::string(name),
                    .rows = rows,
                    .cols = cols,
                    .presence = presence,
                    .place = place});
}

void TensorList::Vector(std::string_view name, int64_t length, std::vector<float>* place,
                        Presence presence) {
  slots_.push_back({.name = prefix_ + std::string(name),
                    .rows = 1,
                    .cols = length,
                    .presence = presence,
                    .place = place});
}

}  // namespace skald::model
