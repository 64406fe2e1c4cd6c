// What transformer.js computes with: matrices, and sums over rows of numbers.

const CHUNK = 1 << 16; // numbers
let [chunk, used] = [new ArrayBuffer(8 * CHUNK), 0];

/** So many zeros. Small arrays share a chunk of memory: to ask for each of them takes longer. */
function zeros(n) {
  if (n > CHUNK / 16) return new Float64Array(n);
  if (used + n > CHUNK) [chunk, used] = [new ArrayBuffer(8 * CHUNK), 0];
  used += n;
  return new Float64Array(chunk, 8 * (used - n), n);
}

/** A matrix (rows, columns), its numbers row by row. */
export class Matrix {
  constructor(rows, columns, data = zeros(rows * columns)) {
    this.rows = rows;
    this.columns = columns;
    this.data = data;
    this.grad = null; // a parameter that learns has one
  }

  static of(rows, columns, number) {
    const y = new Matrix(rows, columns);
    for (let i = 0, n = 0; i < rows; i++)
      for (let j = 0; j < columns; j++) y.data[n] = number(i, j, n++);
    return y;
  }

  row(i) {
    return this.data.subarray(i * this.columns, (i + 1) * this.columns);
  }

  map(number) {
    const [y, a] = [new Matrix(this.rows, this.columns), this.data];
    for (let n = 0; n < a.length; n++) y.data[n] = number(a[n], n);
    return y;
  }

  plus(...others) {
    const y = new Matrix(this.rows, this.columns, this.data.slice());
    for (const other of others) add_to(y.data, other.data);
    return y;
  }

  /** The rows of this matrix, and below them those of another. */
  above(other) {
    const y = new Matrix(this.rows + other.rows, this.columns);
    y.data.set(this.data);
    y.data.set(other.data, this.data.length);
    return y;
  }

  column_sums() {
    const y = new Float64Array(this.columns);
    for (let i = 0; i < this.rows; i++) add_to(y, this.row(i));
    return y;
  }

  /** The transposed matrix */
  get mT() {
    const y = new Matrix(this.columns, this.rows);
    for (let i = 0, n = 0; i < this.rows; i++)
      for (let j = 0; j < this.columns; j++) y.data[j * this.rows + i] = this.data[n++];
    return y;
  }

  /** y + this @ other + bias: four terms at once, in their order; y is changed, else it is new. */
  times(other, bias = null, y = new Matrix(this.rows, other.columns)) {
    const [a, b, c, inner, columns] = [this.data, other.data, y.data, this.columns, other.columns];
    for (let i = 0; i < this.rows; i++) {
      const n = i * columns;
      let k = 0;
      for (; k + 4 <= inner; k += 4) {
        const m = i * inner + k;
        const [x0, x1, x2, x3] = [a[m], a[m + 1], a[m + 2], a[m + 3]];
        const p0 = k * columns;
        const [p1, p2, p3] = [p0 + columns, p0 + 2 * columns, p0 + 3 * columns];
        for (let j = 0; j < columns; j++)
          c[n + j] = c[n + j] + x0 * b[p0 + j] + x1 * b[p1 + j] + x2 * b[p2 + j] + x3 * b[p3 + j];
      }
      for (; k < inner; k++)
        for (let j = 0; j < columns; j++) c[n + j] += a[i * inner + k] * b[k * columns + j];
      if (bias) for (let j = 0; j < columns; j++) c[n + j] += bias[j];
    }
    return y;
  }
}

export function sum(list) {
  let total = 0;
  for (let n = 0; n < list.length; n++) total += list[n];
  return total;
}

export function dot(a, b) {
  let total = 0;
  for (let n = 0; n < a.length; n++) total += a[n] * b[n];
  return total;
}

/** a += factor * b, in place */
export function add_to(a, b, factor = 1) {
  for (let n = 0; n < a.length; n++) a[n] += factor * b[n];
}

/** Softmax of one row, in place. */
export function softmax(row) {
  const highest = row.reduce((a, b) => Math.max(a, b), -Infinity);
  if (highest === -Infinity) return row.fill(0);
  let total = 0;
  for (let j = 0; j < row.length; j++) total += row[j] = Math.exp(row[j] - highest);
  for (let j = 0; j < row.length; j++) row[j] /= total;
  return row;
}
