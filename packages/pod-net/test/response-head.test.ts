import { describe, expect, test } from 'vitest';
import { HeaderFields } from '../src/header-fields.ts';
import { framingOf, statusLine } from '../src/response-head.ts';

describe('statusLine', () => {
  test.each([
    ['HTTP/1.1 200 OK', { status: 200, knowsChunks: true }],
    ['HTTP/1.1 200', { status: 200, knowsChunks: true }],
    ['HTTP/1.1   404 Not Found', { status: 404, knowsChunks: true }],
    ['HTTP/1.0 200 OK', { status: 200, knowsChunks: false }],
    ['HTTP/0.0 200 OK', { status: 200, knowsChunks: true }],
    ['HTTP/2.0 200 OK', { status: 200, knowsChunks: true }],
    ['HTTP/1.1 +20 OK', { status: 20, knowsChunks: true }],
    ['HTTP/1.1 -00 OK', { status: 0, knowsChunks: true }],
    ['HTTP/1.1 -20 OK', 'malformed HTTP status code "-20"'],
    ['HTTP/1.1 20 OK', 'malformed HTTP status code "20"'],
    ['HTTP/1.1 ', 'malformed HTTP status code ""'],
    ['HTTP/1.1', 'malformed HTTP response "HTTP/1.1"'],
    [' 200 OK', 'malformed HTTP version ""'],
    ['http/1.1 200 OK', 'malformed HTTP version "http/1.1"'],
    ['HTTP/1.10 200 OK', 'malformed HTTP version "HTTP/1.10"'],
  ])('parses the status line %j as %j', (line, wanted) => expect(statusLine(line)).toEqual(wanted));
});

describe('framingOf', () => {
  const framing = (status: number, lines: readonly string[] = [], knowsChunks = true) => {
    const fields = new HeaderFields();
    for (const line of [...lines, '']) fields.line(line);
    return framingOf({ status, knowsChunks }, fields);
  };

  test.each([
    [99, 'until close'],
    [100, 0],
    [199, 0],
    [200, 'until close'],
    [203, 'until close'],
    [204, 0],
    [304, 0],
    [305, 'until close'],
  ])('frames the body of a response with status %i as: %s', (status, wanted) => expect(framing(status)).toBe(wanted));

  test.each<[what: string, lines: readonly string[], wanted: unknown]>([
    ['a Content-Length', ['Content-Length: 5'], 5],
    ['a Content-Length of many digits', [`Content-Length: ${'0'.repeat(30)}5`], 5],
    ['the largest Content-Length', ['Content-Length: 9223372036854775807'], Number(2n ** 63n - 1n)],
    [
      'a Content-Length above the largest',
      ['Content-Length: 9223372036854775808'],
      { fault: 'bad Content-Length "9223372036854775808"' },
    ],
    ['the same Content-Length twice', ['Content-Length: 5', 'Content-Length:  5 '], 5],
    [
      'two different Content-Lengths',
      ['Content-Length: 5', 'Content-Length: 6'],
      { fault: 'http: message cannot contain multiple Content-Length headers; got ["5" "6"]' },
    ],
    ['an empty Content-Length', ['Content-Length: '], { fault: 'invalid empty Content-Length ""' }],
    ['chunked encoding', ['Transfer-Encoding: Chunked', 'Content-Length: 5'], 'chunked'],
    ['another Transfer-Encoding', ['Transfer-Encoding: gzip'], { fault: 'unsupported transfer encoding: "gzip"' }],
    [
      'two Transfer-Encodings',
      ['Transfer-Encoding: a', 'Transfer-Encoding: b'],
      { fault: 'too many transfer encodings: ["a" "b"]' },
    ],
    [
      'a forbidden trailer',
      ['Transfer-Encoding: chunked', 'Trailer: X, content-LENGTH'],
      { fault: 'bad trailer key "Content-Length"' },
    ],
    ['a trailer', ['Transfer-Encoding: chunked', 'Trailer: X'], 'chunked'],
    ['a trailer and a Content-Length', ['Content-Length: 5', 'Trailer: Trailer'], 5],
  ])('frames a response body with %s as Go does: $2', (_what, lines, wanted) =>
    expect(framing(200, lines)).toEqual(wanted),
  );

  test('ignores Transfer-Encoding in an HTTP/1.0 response', () => {
    expect(framing(200, ['Transfer-Encoding: chunked', 'Content-Length: 5'], false)).toBe(5);
  });

  test('the error for a response header that is repeated more than 4096 times quotes 4096 values', () => {
    const lines = Array.from({ length: 5000 }, () => 'Transfer-Encoding: a');
    const fault = `too many transfer encodings: [${Array.from({ length: 4096 }, () => '"a"').join(' ')}]`;
    expect(framing(200, lines)).toEqual({ fault });
  });
});
