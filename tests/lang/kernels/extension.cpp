// An extension as one writes it for DAPHNE: kernels by its names and conventions.
#include <runtime/local/context/DaphneContext.h>
#include <runtime/local/datastructures/CSRMatrix.h>
#include <runtime/local/datastructures/DenseMatrix.h>
#include <runtime/local/datastructures/Frame.h>

#include <stdexcept>

template <typename VT> static void total(VT *res, const DenseMatrix<VT> *arg, VT offset) {
    const VT *values = arg->getValues();
    *res = offset;
    for (size_t r = 0; r < arg->getNumRows(); r++, values += arg->getRowSkip())
        for (size_t c = 0; c < arg->getNumCols(); c++)
            *res += values[c];
}

extern "C" {

void sumOfFloats(float *res, const DenseMatrix<float> *arg, DaphneContext *) {
    total<float>(res, arg, 0);
}

void sumOfFew(float *res, const DenseMatrix<float> *arg, DaphneContext *) {
    if (arg->getNumRows() > 3)
        throw std::runtime_error("these are too many rows");
    total<float>(res, arg, 1000);
}

void sumOfIntegers(int64_t *res, const DenseMatrix<int64_t> *arg, DaphneContext *) {
    total<int64_t>(res, arg, 0);
}

void addHalf(
    DenseMatrix<double> *&res, const DenseMatrix<double> *lhs, const DenseMatrix<double> *rhs,
    DaphneContext *
) {
    res = DataObjectFactory::create<DenseMatrix<double>>(
        lhs->getNumRows(), lhs->getNumCols(), false);
    for (size_t r = 0; r < lhs->getNumRows(); r++)
        for (size_t c = 0; c < lhs->getNumCols(); c++)
            res->set(r, c, lhs->get(r, c) + rhs->get(r, c) + 0.5);
}

void scaled(
    DenseMatrix<double> **res, const DenseMatrix<double> *lhs, double rhs, DaphneContext *
) {
    *res = DataObjectFactory::create<DenseMatrix<double>>(lhs->getNumRows(), lhs->getNumCols(), true);
    for (size_t r = 0; r < lhs->getNumRows(); r++)
        for (size_t c = 0; c < lhs->getNumCols(); c++)
            (*res)->append(r, c, lhs->get(r, c) * rhs);
}

void firstRows(DenseMatrix<double> *&res, const DenseMatrix<double> *arg, DaphneContext *) {
    // A view of an argument: the caller copies it.
    res = arg->sliceRow(0, arg->getNumRows());
}

void storedSum(double *res, const CSRMatrix<double> *arg, DaphneContext *) {
    *res = 0.25;
    for (size_t r = 0; r < arg->getNumRows(); r++)
        for (size_t at = 0; at < arg->getNumNonZeros(r); at++)
            *res += arg->getValues(r)[at];
}

void doubled(CSRMatrix<double> *&res, const CSRMatrix<double> *arg, DaphneContext *) {
    res = DataObjectFactory::create<CSRMatrix<double>>(
        arg->getNumRows(), arg->getNumCols(), arg->getNumNonZeros(), false);
    res->prepareAppend();
    for (size_t r = 0; r < arg->getNumRows(); r++)
        for (size_t at = 0; at < arg->getNumNonZeros(r); at++)
            res->append(r, arg->getColIdxs(r)[at], 2 * arg->getValues(r)[at]);
    res->finishAppend();
}

void pairs(Frame *&res, const Frame *lhs, const Frame *rhs, DaphneContext *) {
    auto *left = DataObjectFactory::create<DenseMatrix<int64_t>>(1, 1, false);
    auto *right = DataObjectFactory::create<DenseMatrix<double>>(1, 1, false);
    left->set(0, 0, lhs->getColumn<int64_t>("a")->get(1, 0));
    right->set(0, 0, rhs->getColumn<double>(0)->get(0, 0));
    const std::string labels[] = {"one", "two"};
    res = DataObjectFactory::create<Frame>(std::vector<Structure *>{left, right}, labels);
}

// New columns of other types, filled by their labels.
void numbered(Frame *&res, const Frame *lhs, const Frame *rhs, DaphneContext *) {
    const ValueTypeCode schema[] = {ValueTypeCode::SI64, ValueTypeCode::F64, ValueTypeCode::UI8};
    const std::string labels[] = {"at", "half", "none"};
    res = DataObjectFactory::create<Frame>(lhs->getNumRows(), 3, schema, labels, true);
    for (std::size_t row = 0; row < res->getNumRows(); row++) {
        res->getColumn<int64_t>("at")->set(row, 0, static_cast<int64_t>(row + rhs->getNumRows()));
        static_cast<double *>(res->getColumnRaw(1))[row] = 0.5 * static_cast<double>(row);
    }
}

// A view of chosen columns, of which a view of some rows has other labels.
void chosen(Frame *&res, const Frame *lhs, const Frame *, DaphneContext *) {
    const std::size_t columns[] = {1, 0};
    auto *turned = DataObjectFactory::create<Frame>(lhs, 0, lhs->getNumRows(), 2, columns);
    res = turned->sliceRow(1, lhs->getNumRows());
    DataObjectFactory::destroy(turned);
    const std::string labels[] = {"one", "two"};
    res->setLabels(labels);
}

void tooFar(Frame *&res, const Frame *lhs, const Frame *, DaphneContext *) {
    res = lhs->slice(0, 1, 1, 9);
}

void beyond(
    DenseMatrix<double> *&res, const DenseMatrix<double> *lhs, const DenseMatrix<double> *,
    DaphneContext *
) {
    res = DataObjectFactory::create<DenseMatrix<double>>(lhs->getNumRows(), lhs->getNumCols(), true);
    res->getValues()[res->getNumItems()] = 1.0;
}

void changing(
    DenseMatrix<double> *&res, const DenseMatrix<double> *lhs, const DenseMatrix<double> *rhs,
    DaphneContext *context
) {
    const_cast<double *>(lhs->getValues())[0] = 7.0;
    addHalf(res, lhs, rhs, context);
}

// More parameters than fit into registers.
void manyParameters(
    DenseMatrix<double> *&res, int64_t rows, int64_t columns, double min, double max,
    double sparsity, int64_t seed, DaphneContext *context
) {
    res = DataObjectFactory::create<DenseMatrix<double>>(rows, columns, true);
    const double threads = context->getUserConfig().numberOfThreads;
    const double given[] = {min, max, sparsity, double(seed), threads};
    for (size_t at = 0; at < 5; at++)
        res->getValues()[at] = given[at];
}
}
