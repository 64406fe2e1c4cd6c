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
    return new Matrix(this.rows, this.columns, this.data.map(number));
  }

  plus(...others) {
    const y = new Matrix(this.rows, this.columns);
    for (const { data } of [this, ...others]) add_to(y.data, data);
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

  /** The transposed matrix, to multiply with: the same numbers, in other steps. */
  get mT() {
    const { rows, columns, data, times } = this;
    return { rows: columns, columns: rows, data, down: 1, right: columns, times };
  }

  /**
   * y + this @ other + bias; y is changed, else it is new. Two rows and two columns are summed at
   * once: each number that is read serves twice. At the edge a block has the last ones twice.
   */
  times(other, bias = null, y = new Matrix(this.rows, other.columns)) {
    const { rows, columns: inner, data: a, down = inner, right = 1 } = this;
    const { columns, data: b, down: b_down = columns, right: b_right = 1 } = other;
    const c = y.data;
    if (bias) for (let i = 0; i < rows; i++) add_to(y.row(i), bias);
    for (let i = 0; i < rows; i += 2)
      for (let j = 0; j < columns; j += 2) {
        const lower = Math.min(i + 1, rows - 1);
        const next = Math.min(j + 1, columns - 1);
        let sum = c[i * columns + j];
        let sum_next = c[i * columns + next];
        let low = c[lower * columns + j];
        let low_next = c[lower * columns + next];
        for (let k = 0, p = 0, q = 0; k < inner; k++, p += right, q += b_down) {
          const x = a[i * down + p];
          const x_low = a[lower * down + p];
          const z = b[q + j * b_right];
          const z_next = b[q + next * b_right];
          sum += x * z;
          sum_next += x * z_next;
          low += x_low * z;
          low_next += x_low * z_next;
        }
        c[i * columns + j] = sum;
        c[i * columns + next] = sum_next;
        c[lower * columns + j] = low;
        c[lower * columns + next] = low_next;
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
  let highest = -Infinity;
  for (let j = 0; j < row.length; j++) highest = Math.max(highest, row[j]);
  if (highest === -Infinity) return row.fill(0);
  let total = 0;
  for (let j = 0; j < row.length; j++) total += row[j] = Math.exp(row[j] - highest);
  for (let j = 0; j < row.length; j++) row[j] /= total;
  return row;
}
