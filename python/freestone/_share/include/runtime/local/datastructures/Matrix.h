// What all matrices have.
#ifndef FREESTONE_MATRIX_H
#define FREESTONE_MATRIX_H

#include <runtime/local/datastructures/Structure.h>

template <typename ValueType> class Matrix : public Structure {
  public:
    using VT = ValueType;
};

#endif
