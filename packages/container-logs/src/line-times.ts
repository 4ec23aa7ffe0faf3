const [COLON, COMMA, DASH, DOT, PLUS, UPPER_T, UPPER_Z] = [0x3a, 0x2c, 0x2d, 0x2e, 0x2b, 0x54, 0x5a];
/** Length of `2006-01-02T15:04`. Consecutive lines usually have the same minute, so the minute is cached. */
const MINUTE_BYTES = 16;
/** Length with seconds and the shortest time zone. */
const MIN_BYTES = 20;

/** Parses RFC 3339 times of any precision and offset directly from the bytes of a file, without creating strings. */
export class LineTimes {
  readonly #minute = new Uint8Array(MINUTE_BYTES);
  #minuteMs = Number.NaN;

  /** Returns milliseconds since the Unix epoch, with a fraction; NaN if the bytes are not a time. */
  read(bytes: Uint8Array, start: number, end: number): number {
    if (end - start < MIN_BYTES || !this.#readMinute(bytes, start)) return Number.NaN;
    const seconds = bytes[start + 16] === COLON ? twoDigits(bytes, start + 17) : Number.NaN;
    if (!(seconds < 60)) return Number.NaN;
    let at = start + 19;
    let fraction = 0;
    if (bytes[at] === DOT || bytes[at] === COMMA) {
      let unit = 100;
      const digits = ++at;
      for (let digit = digitAt(bytes, at); at < end && digit >= 0; digit = digitAt(bytes, ++at)) {
        fraction += digit * unit;
        unit /= 10;
      }
      if (at === digits) return Number.NaN;
    }
    return this.#minuteMs + seconds * 1000 + fraction - offsetMs(bytes, at, end);
  }

  #readMinute(bytes: Uint8Array, start: number): boolean {
    for (let index = MINUTE_BYTES - 1; index >= 0; index--) {
      if (bytes[start + index] !== this.#minute[index]) {
        this.#minuteMs = minuteMs(bytes, start);
        this.#minute.set(bytes.subarray(start, start + MINUTE_BYTES));
        break;
      }
    }
    return !Number.isNaN(this.#minuteMs);
  }
}

function minuteMs(bytes: Uint8Array, start: number): number {
  const isOfForm =
    bytes[start + 4] === DASH &&
    bytes[start + 7] === DASH &&
    bytes[start + 10] === UPPER_T &&
    bytes[start + 13] === COLON;
  if (!isOfForm) return Number.NaN;
  const year = twoDigits(bytes, start) * 100 + twoDigits(bytes, start + 2);
  const [month, day] = [twoDigits(bytes, start + 5), twoDigits(bytes, start + 8)];
  const [hour, minute] = [twoDigits(bytes, start + 11), twoDigits(bytes, start + 14)];
  if (!(year >= 0 && month >= 1 && month <= 12 && day >= 1 && hour < 24 && minute < 60)) return Number.NaN;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  // A day that does not exist in its month was converted to a day of the next month.
  return date.getUTCDate() === day ? date.getTime() + (hour * 60 + minute) * 60_000 : Number.NaN;
}

/** Returns the UTC offset in ms of the time zone between `at` and `end`; NaN if the bytes are not a time zone. */
function offsetMs(bytes: Uint8Array, at: number, end: number): number {
  const sign = bytes[at];
  if (sign === UPPER_Z) return at + 1 === end ? 0 : Number.NaN;
  if ((sign !== PLUS && sign !== DASH) || at + 6 !== end || bytes[at + 3] !== COLON) return Number.NaN;
  const [hours, minutes] = [twoDigits(bytes, at + 1), twoDigits(bytes, at + 4)];
  if (!(hours < 24 && minutes < 60)) return Number.NaN;
  return (sign === PLUS ? 1 : -1) * (hours * 60 + minutes) * 60_000;
}

/** Returns the value of two decimal digits; NaN if the bytes are not digits. */
function twoDigits(bytes: Uint8Array, at: number): number {
  const [tens, ones] = [digitAt(bytes, at), digitAt(bytes, at + 1)];
  return tens < 0 || ones < 0 ? Number.NaN : tens * 10 + ones;
}

/** Returns the value of a decimal digit; -1 if the byte is not a digit. */
function digitAt(bytes: Uint8Array, at: number): number {
  const digit = (bytes[at] ?? 0) - 0x30;
  return digit >= 0 && digit <= 9 ? digit : -1;
}
