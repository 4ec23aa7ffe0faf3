import { goQuote } from './go-quote.ts';
import { type HttpGetRequest, hostAndPort } from './http-request.ts';

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones that it is about
const CONTROL = /[\0-\x08\x0a-\x1f\x7f]/;

type RequestHead = string | { readonly fault: string };

/** Of requests that are sent again and again. */
const heads = new WeakMap<HttpGetRequest, RequestHead>();

/**
 * What is sent for a request, in the bytes that are sent, one a character: text is UTF-8. Headers of one name stand together.
 * @returns what is wrong with it, in Go's words, in `fault` (`validateHeaders` in net/http/transport.go)
 */
export function requestHead(request: HttpGetRequest): RequestHead {
  let head = heads.get(request);
  if (head === undefined) {
    head = written(request);
    heads.set(request, head);
  }
  return head;
}

function written(request: HttpGetRequest): RequestHead {
  const { target, headers, hostHeader, host, port } = request;
  if (/[^!-~]/.test(target)) return { fault: "net/http: can't write control character in Request.URL" };
  const fields = new Map<string, [name: string, ...values: string[]]>();
  for (const [name, value] of [['Host', hostHeader ?? hostAndPort(host, port)] as const, ...headers]) {
    if (!TOKEN.test(name)) return { fault: `net/http: invalid header field name ${goQuote(wire(name))}` };
    if (CONTROL.test(value)) return { fault: `net/http: invalid header field value for ${goQuote(name)}` };
    const key = name.toLowerCase();
    const before = fields.get(key);
    if (before === undefined) fields.set(key, [name, wire(value)]);
    else before.push(wire(value));
  }
  if (!fields.has('connection')) fields.set('connection', ['Connection', 'close']);
  let head = `GET ${target} HTTP/1.1\r\n`;
  for (const [key, [name, ...values]] of fields) {
    // Cookies are one header (RFC 6265, 5.4).
    for (const value of key === 'cookie' ? [values.join('; ')] : values) head += `${name}: ${value}\r\n`;
  }
  return `${head}\r\n`;
}

function wire(text: string): string {
  return /[^\0-\x7f]/.test(text) ? Buffer.from(text, 'utf8').toString('latin1') : text;
}
