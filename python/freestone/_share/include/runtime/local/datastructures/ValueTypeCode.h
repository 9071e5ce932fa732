// The types of elements, by DAPHNE's names.
#ifndef FREESTONE_VALUE_TYPE_CODE_H
#define FREESTONE_VALUE_TYPE_CODE_H

#include <freestone_kernel.hpp>

enum class ValueTypeCode : std::uint8_t {
    SI8 = FREESTONE_SI8,
    SI32 = FREESTONE_SI32,
    SI64 = FREESTONE_SI64,
    UI8 = FREESTONE_UI8,
    UI32 = FREESTONE_UI32,
    UI64 = FREESTONE_UI64,
    F32 = FREESTONE_F32,
    F64 = FREESTONE_F64,
    STR = FREESTONE_STR,
    BOOL = FREESTONE_BOOL,
};

#endif
