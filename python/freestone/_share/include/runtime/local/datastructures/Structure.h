// What all matrices and frames have. An object of these classes is a freestone_object, and has no
// other members: pointers to either are pointers to both.
#ifndef FREESTONE_STRUCTURE_H
#define FREESTONE_STRUCTURE_H

#include <runtime/local/datastructures/ValueTypeUtils.h>

#include <cstddef>
#include <new>
#include <ostream>
#include <stdexcept>

class Structure : protected freestone_object {
  public:
    Structure() = delete;
    Structure(const Structure &) = delete;
    Structure &operator=(const Structure &) = delete;

    std::size_t getNumRows() const { return rows; }
    std::size_t getNumCols() const { return columns; }
    std::size_t getNumDims() const { return 2; }
    std::size_t getNumItems() const { return rows * columns; }

    const freestone_object *object() const { return this; }
    freestone_object *object() { return this; }
};

static_assert(sizeof(Structure) == sizeof(freestone_object), "no members of its own");

#endif
