import { describe, expect, test } from 'vitest';
import { DIAL_TIMEOUT } from '../src/dial.ts';
import { goQuote, MAX_QUOTED } from '../src/go-quote.ts';
import { goWords } from '../src/go-words.ts';

const context = { host: 'web', port: 80, ends: '10.0.0.1:4000->10.0.0.5:80' };
const wordsOf = (fields: object, message = 'odd') => goWords(Object.assign(new Error(message), fields), context);

describe('goWords', () => {
  test.each([
    ['ECONNREFUSED', 'connection refused'],
    ['ECONNRESET', 'connection reset by peer'],
    ['EHOSTUNREACH', 'no route to host'],
    ['ENETUNREACH', 'network is unreachable'],
    ['ETIMEDOUT', 'connection timed out'],
    ['EPIPE', 'broken pipe'],
    ['EACCES', 'permission denied'],
    ['EADDRNOTAVAIL', 'cannot assign requested address'],
    ['EINVAL', 'invalid argument'],
  ])('the error code %s is reported as "%s" for connect, read and write', (code, words) => {
    const connect = { code, syscall: 'connect' };
    expect(wordsOf(connect)).toBe(`dial tcp web:80: connect: ${words}`);
    expect(wordsOf({ ...connect, address: '::1' })).toBe(`dial tcp [::1]:80: connect: ${words}`);
    for (const syscall of ['read', 'write']) {
      expect(wordsOf({ code, syscall })).toBe(`${syscall} tcp ${context.ends}: ${syscall}: ${words}`);
    }
  });

  test.each([
    ['an unknown host name', { code: 'ENOTFOUND', syscall: 'getaddrinfo' }, 'dial tcp: lookup web: no such host'],
    ['an invalid host name', { code: 'EINVAL', syscall: 'getaddrinfo' }, 'dial tcp: lookup web: no such host'],
    ['a host name that Node rejects', { code: 'ERR_INVALID_ARG_VALUE' }, 'dial tcp: lookup web: no such host'],
    ['an unreachable name server', { code: 'EAI_AGAIN' }, 'dial tcp: lookup web: server misbehaving'],
    ['a dial timeout', { code: DIAL_TIMEOUT, address: '10.0.0.5' }, 'dial tcp 10.0.0.5:80: i/o timeout'],
    ['a connection closed during the TLS handshake', { code: 'ECONNRESET' }, 'EOF'],
    ['an unknown error code', { code: 'EXOTIC', syscall: 'connect' }, 'odd'],
    ['an error of another system call', { code: 'EPIPE', syscall: 'shutdown' }, 'odd'],
    ['an error code without a system call', { code: 'EPIPE' }, 'odd'],
    ['a system call without an error code', { syscall: 'read' }, 'odd'],
    ['an error without a code', {}, 'odd'],
  ])('for %s, goWords returns "$2"', (_what, fields, words) => {
    expect(wordsOf(fields)).toBe(words);
  });

  test('formats a thrown value that is not an error as text', () => expect(goWords('odd', context)).toBe('odd'));

  test.each([
    [0, 'close notify'],
    [10, 'unexpected message'],
    [20, 'bad record MAC'],
    [21, 'decryption failed'],
    [22, 'record overflow'],
    [30, 'decompression failure'],
    [40, 'handshake failure'],
    [42, 'bad certificate'],
    [43, 'unsupported certificate'],
    [44, 'revoked certificate'],
    [45, 'expired certificate'],
    [46, 'unknown certificate'],
    [47, 'illegal parameter'],
    [48, 'unknown certificate authority'],
    [49, 'access denied'],
    [50, 'error decoding message'],
    [51, 'error decrypting message'],
    [60, 'export restriction'],
    [70, 'protocol version not supported'],
    [71, 'insufficient security level'],
    [80, 'internal error'],
    [86, 'inappropriate fallback'],
    [90, 'user canceled'],
    [100, 'no renegotiation'],
    [109, 'missing extension'],
    [110, 'unsupported extension'],
    [111, 'certificate unobtainable'],
    [112, 'unrecognized name'],
    [113, 'bad certificate status response'],
    [114, 'bad certificate hash value'],
    [115, 'unknown PSK identity'],
    [116, 'certificate required'],
    [120, 'no application protocol'],
    [121, 'encrypted client hello required'],
    [122, 'alert(122)'],
  ])('reports TLS alert %i of the peer as "%s"', (number, words) => {
    const message = `0:error:0A000410:SSL routines:ssl3_read_bytes:some alert:ssl/record.c:1:SSL alert number ${number}`;
    expect(wordsOf({ code: 'ERR_SSL_SOME_ALERT' }, message)).toBe(`remote error: tls: ${words}`);
    expect(wordsOf({ code: 'EPROTO' }, message)).toBe(`remote error: tls: ${words}`);
    expect(wordsOf({ code: 'EXOTIC' }, message)).toBe(message);
  });

  test('reports OpenSSL errors without their source locations', () => {
    const message = '0:error:0A00010B:SSL routines:ssl3_get_record:wrong version number:ssl/record.c:1:';
    expect(wordsOf({ code: 'ERR_SSL_WRONG_VERSION_NUMBER' }, message)).toBe('tls: wrong version number');
    expect(wordsOf({ code: 'EPROTO' }, 'odd')).toBe('tls: odd');
  });
});

describe('goQuote', () => {
  const bytes = (text: string): string => Buffer.from(text).toString('latin1');

  test.each([
    ['', '""'],
    ['a b~!', '"a b~!"'],
    ['"\\', '"\\"\\\\"'],
    ['\x07\b\f\n\r\t\v', '"\\a\\b\\f\\n\\r\\t\\v"'],
    ['\0\x1f\x7f', '"\\x00\\x1f\\x7f"'],
    ['\x80\xff', '"\\x80\\xff"'],
    [bytes('é€😀'), '"é€😀"'],
    [bytes('\u00a0\u0080\u2028\uffff'), '"\\u00a0\\u0080\\u2028\\uffff"'],
    [bytes('\u{e0001}'), '"\\U000e0001"'],
    [bytes('\u{10000}'), '"𐀀"'],
    ['\xe2\x82', '"\\xe2\\x82"'],
    ['\xed\xa0\x80', '"\\xed\\xa0\\x80"'],
    ['\xc0\xaf', '"\\xc0\\xaf"'],
    ['\xe0\x9f\xbf', '"\\xe0\\x9f\\xbf"'],
    ['\xf4\x90\x80\x80', '"\\xf4\\x90\\x80\\x80"'],
  ])('quotes %j as %s, as Go 1.26 does', (text, quoted) => expect(goQuote(text)).toBe(quoted));

  test('goQuote quotes at most 4096 bytes', () => {
    expect(goQuote('a'.repeat(5000))).toBe(`"${'a'.repeat(4096)}"`);
    expect(MAX_QUOTED).toBe(4096);
  });
});
