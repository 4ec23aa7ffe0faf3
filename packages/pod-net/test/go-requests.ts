/**
 * A recorded run of Go's client for an `httpGet` action: the responses it got, the requests it sent, and the result.
 */
export interface GoRequest {
  readonly host?: string;
  readonly path?: string;
  readonly headers?: readonly (readonly [name: string, value: string])[];
  /** One response per connection. The last response is also sent on all further connections. */
  readonly answers?: readonly string[];
  /** Expected request heads, with `|` as the line ending. {@link plain} and {@link after} create such heads. */
  readonly requests: readonly string[];
  /** Expected error text, if no request is sent. */
  readonly refused?: string;
  readonly fault?: string;
  readonly status?: number;
  readonly body?: string;
}

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi';
const moved = (location: string, status = '302 Found', rest = ''): string =>
  `HTTP/1.1 ${status}\r\nLocation: ${location}\r\nContent-Length: 0\r\n${rest}\r\n`;
/** Returns the head of a first request for an action without headers. */
const plain = (target: string): string =>
  `GET ${target} HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Connection: close||`;
/** Returns the head of a request that follows a redirect of the first request. */
const after = (target: string): string =>
  plain(target).replace('Connection', 'Referer: http://127.0.0.1:PORT/a?b#c|Connection');

/**
 * Recorded behaviour of Go 1.26's client, configured as in the kubelet's prober. Unless stated otherwise, the actions
 * request the path `/a?b#c` on loopback, and the servers send the given responses. Heads and responses are bytes, one
 * per character; `PORT` is the server's port.
 */
export const GO_REQUESTS: readonly GoRequest[] = [
  { path: '', requests: [plain('/')] },
  { path: '/', requests: [plain('/')] },
  { path: 'healthz', requests: [plain('/healthz')] },
  { path: '/a%20b/../c?x=y z#frag', requests: [plain('/a%20b/../c?x=y z')] },
  { path: '/a b', requests: [plain('/a%20b')] },
  { path: '/\xfc', requests: [plain('/%C3%BC')] },
  { path: '/x?q=%zz', requests: [plain('/x?q=%zz')] },
  { path: '/100%', requests: [plain('/100%25')] },
  { path: '/a?', requests: [plain('/a?')] },
  { path: '/a??', requests: [plain('/a??')] },
  { path: '/a?b?', requests: [plain('/a?b?')] },
  { path: 'http://other/path?q', requests: [plain('/path?q')] },
  { path: '//other/path', requests: [plain('/path')] },
  {
    path: '//us%65r:p%C3%BC@other/x',
    requests: [
      'GET /x HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Authorization: Basic dXNlcjpww7w=|Connection: close||',
    ],
  },
  {
    path: '//user@other/x',
    requests: [
      'GET /x HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Authorization: Basic dXNlcjo=|Connection: close||',
    ],
  },
  {
    path: '//user:@other/x',
    requests: [
      'GET /x HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Authorization: Basic dXNlcjo=|Connection: close||',
    ],
  },
  { path: '/a\nb', requests: [plain('/a%0Ab')] },
  { path: "/it's(fine)*!", requests: [plain("/it's(fine)*!")] },
  { path: "/it's(fine)%zz", requests: [plain('/it%27s%28fine%29%25zz')] },
  { path: '*', requests: [plain('/*')] },
  { path: '*/x', requests: [plain('/*/x')] },
  { path: 'foo:bar', requests: [], fault: 'Get "http:bar": http: no Host in request URL' },
  { path: 'foo:/bar', requests: [plain('/bar')] },
  { path: 'foo:?x', requests: [plain('/?x')] },
  { path: 'a:b/c', requests: [], fault: 'Get "http:b/c": http: no Host in request URL' },
  { path: '/a:b', requests: [plain('/a:b')] },
  { path: '?x', requests: [plain('/?x')] },
  { path: '#x', requests: [plain('/')] },
  { path: '//', requests: [plain('/')] },
  { path: '///x', requests: [plain('///x')] },
  { path: '////x', requests: [plain('////x')] },
  { path: '/./x', requests: [plain('/./x')] },
  { path: '/%2f%2F%41', requests: [plain('/%2f%2F%41')] },
  { path: '/[x]', requests: [plain('/[x]')] },
  { path: '/"<>\\^`{|}', requests: [plain('/%22%3C%3E%5C%5E%60%7B%7C%7D')] },
  { path: '/x?"<>\\^`{|}\xfc', requests: [plain('/x?"<>\\^`{|}\xc3\xbc')] },
  { path: '/\x7f', requests: [plain('/%7F')] },
  { path: '//[::1]:80/x', requests: [plain('/x')] },
  { path: '//[::1/x', requests: [plain('//%5B::1/x')] },
  { path: '//a:b/x', requests: [plain('//a:b/x')] },
  { path: '//a b/x', requests: [plain('//a%20b/x')] },
  { path: '//a%41/x', requests: [plain('//a%2541/x')] },
  {
    path: '//a@b@c/x',
    requests: [
      'GET /x HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Authorization: Basic YUBiOg==|Connection: close||',
    ],
  },
  { path: '/a#%zz', requests: [plain('/a%23%25zz')] },
  { path: '/a#\xfc', requests: [plain('/a')] },
  { path: '//\xfc@x/', requests: [plain('//%C3%BC@x/')] },
  { host: 'a host', requests: [], refused: 'parse "http://a%20host:PORT/a?b": invalid URL escape "%20"' },
  { host: 'a/b', requests: [], refused: 'parse "http://a%2Fb:PORT/a?b": invalid URL escape "%2F"' },
  { host: 'user@host', requests: [], refused: 'parse "http://user%40host:PORT/a?b": invalid URL escape "%40"' },
  { host: 'a%b', requests: [], fault: 'Get "http://a%25b:PORT/a?b#c": dial tcp: lookup a%b: no such host' },
  { host: '[::1]', requests: [], refused: 'parse "http://[[::1]]:PORT/a?b": invalid IP-literal' },
  { host: 'a?b', requests: [], refused: 'parse "http://a%3Fb:PORT/a?b": invalid URL escape "%3F"' },
  { host: 'a#b', requests: [], refused: 'parse "http://a%23b:PORT/a?b": invalid URL escape "%23"' },
  { host: '\xfc b', requests: [], refused: 'parse "http://%C3%BC%20b:PORT/a?b": invalid URL escape "%20"' },
  {
    headers: [
      ['User-Agent', ' a/1 '],
      ['user-agent', 'b/2'],
    ],
    requests: ['GET /a?b HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: a/1|Accept: */*|Connection: close||'],
  },
  {
    headers: [
      ['User-Agent', ''],
      ['User-Agent', 'b/2'],
    ],
    requests: ['GET /a?b HTTP/1.1|Host: 127.0.0.1:PORT|Accept: */*|Connection: close||'],
  },
  {
    headers: [['User-Agent', ' ']],
    requests: ['GET /a?b HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: |Accept: */*|Connection: close||'],
  },
  {
    headers: [
      ['Accept', 'a/b'],
      ['Accept', 'c/d'],
    ],
    requests: [
      'GET /a?b HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: a/b|Accept: c/d|Connection: close||',
    ],
  },
  {
    headers: [
      ['Accept', ''],
      ['Accept', 'c/d'],
    ],
    requests: ['GET /a?b HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Connection: close||'],
  },
  {
    headers: [['Accept', ' ']],
    requests: ['GET /a?b HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: |Connection: close||'],
  },
  {
    headers: [
      ['x-b', '2'],
      ['X-A', '1'],
      ['X-B', '3'],
      ['B', '4'],
      ['a', '5'],
    ],
    requests: [
      'GET /a?b HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|A: 5|Accept: */*|B: 4|X-A: 1|X-B: 2|X-B: 3|Connection: close||',
    ],
  },
  {
    headers: [
      ['X-A', ' a\t'],
      ['X-B', ''],
      ['X-C', 'a  b'],
    ],
    requests: [
      'GET /a?b HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|X-A: a|X-B: |X-C: a  b|Connection: close||',
    ],
  },
  {
    headers: [
      ['Cookie', 'a=1'],
      ['Cookie', 'b=2; c=3'],
    ],
    requests: [
      'GET /a?b HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Cookie: a=1|Cookie: b=2; c=3|Connection: close||',
    ],
  },
  {
    headers: [
      ['Content-Length', '5'],
      ['Transfer-Encoding', 'chunked'],
      ['Trailer', 'X'],
      ['Host', 'a.example'],
      ['Host', 'b.example'],
    ],
    requests: ['GET /a?b HTTP/1.1|Host: a.example|User-Agent: kube-probe/1.36|Accept: */*|Connection: close||'],
  },
  {
    headers: [['Connection', 'keep-alive']],
    requests: [
      'GET /a?b HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Connection: keep-alive|Connection: close||',
    ],
  },
  {
    headers: [['Connection', 'Close']],
    requests: ['GET /a?b HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Connection: Close||'],
  },
  {
    headers: [['Connection', 'x, close']],
    requests: ['GET /a?b HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Connection: x, close||'],
  },
  {
    headers: [
      ['Connection', 'x'],
      ['Connection', 'close'],
    ],
    requests: [
      'GET /a?b HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Connection: x|Connection: close|Connection: close||',
    ],
  },
  {
    headers: [['Connection', 'closed']],
    requests: [
      'GET /a?b HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Connection: closed|Connection: close||',
    ],
  },
  {
    headers: [
      ['Connection', 'keep-alive, Upgrade'],
      ['Upgrade', 'websocket'],
    ],
    requests: [
      'GET /a?b HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Connection: keep-alive, Upgrade|Upgrade: websocket||',
    ],
  },
  {
    headers: [
      ['Connection', 'x'],
      ['Connection', 'upgrade'],
      ['Upgrade', 'websocket'],
    ],
    requests: [
      'GET /a?b HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Connection: x|Connection: upgrade|Upgrade: websocket||',
    ],
  },
  {
    headers: [['Upgrade', 'websocket']],
    requests: [
      'GET /a?b HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Upgrade: websocket|Connection: close||',
    ],
  },
  {
    headers: [['X-A', '\xfc€😀']],
    requests: [
      'GET /a?b HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|X-A: \xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80|Connection: close||',
    ],
  },
  {
    headers: [['a b', '1']],
    requests: [],
    fault: 'Get "http://127.0.0.1:PORT/a?b#c": net/http: invalid header field name "a b"',
  },
  {
    headers: [['', '1']],
    requests: [],
    fault: 'Get "http://127.0.0.1:PORT/a?b#c": net/http: invalid header field name ""',
  },
  {
    headers: [['X-A', 'a\r\nb']],
    requests: [],
    fault: 'Get "http://127.0.0.1:PORT/a?b#c": net/http: invalid header field value for "X-A"',
  },
  {
    headers: [['Content-Length', 'a\rb']],
    requests: [],
    fault: 'Get "http://127.0.0.1:PORT/a?b#c": net/http: invalid header field value for "Content-Length"',
  },
  {
    headers: [['X-A', '\x7f']],
    requests: [],
    fault: 'Get "http://127.0.0.1:PORT/a?b#c": net/http: invalid header field value for "X-A"',
  },
  {
    headers: [['Host', 'a b']],
    requests: ['GET /a?b HTTP/1.1|Host: |User-Agent: kube-probe/1.36|Accept: */*|Connection: close||'],
  },
  {
    headers: [['Host', 'a/b']],
    requests: ['GET /a?b HTTP/1.1|Host: |User-Agent: kube-probe/1.36|Accept: */*|Connection: close||'],
  },
  {
    headers: [['Host', '[fe80::1%eth0]:80']],
    requests: ['GET /a?b HTTP/1.1|Host: [fe80::1]:80|User-Agent: kube-probe/1.36|Accept: */*|Connection: close||'],
  },
  {
    headers: [['Host', 'b\xfccher.example:8']],
    requests: [
      'GET /a?b HTTP/1.1|Host: xn--bcher-kva.example:8|User-Agent: kube-probe/1.36|Accept: */*|Connection: close||',
    ],
  },
  {
    headers: [['Host', 'a\nb']],
    requests: [],
    fault: 'Get "http://127.0.0.1:PORT/a?b#c": net/http: invalid header field value for "Host"',
  },
  {
    headers: [['Authorization', 'Bearer x']],
    requests: [
      'GET /a?b HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Authorization: Bearer x|Connection: close||',
    ],
  },
  {
    headers: [['Expect', '100-continue']],
    requests: [
      'GET /a?b HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Expect: 100-continue|Connection: close||',
    ],
  },
  {
    headers: [['TE', 'trailers']],
    requests: [
      'GET /a?b HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Te: trailers|Connection: close||',
    ],
  },
  {
    headers: [['Accept-Encoding', 'gzip']],
    requests: [
      'GET /a?b HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Accept-Encoding: gzip|Connection: close||',
    ],
  },
  { answers: [moved('/b'), OK], requests: [plain('/a?b'), after('/b')] },
  { answers: [moved('b'), OK], requests: [plain('/a?b'), after('/b')] },
  { answers: [moved('../c'), OK], requests: [plain('/a?b'), after('/c')] },
  { answers: [moved('../../d/./e/..'), OK], requests: [plain('/a?b'), after('/d/')] },
  { answers: [moved('?x'), OK], requests: [plain('/a?b'), after('/a?x')] },
  { answers: [moved('?'), OK], requests: [plain('/a?b'), after('/a?')] },
  { answers: [moved('#f'), OK], requests: [plain('/a?b'), after('/a?b')] },
  { answers: [moved(''), OK], requests: [plain('/a?b')], status: 302, body: '' },
  { answers: [moved('/'), OK], requests: [plain('/a?b'), after('/')] },
  { answers: [moved('//127.0.0.1:PORT/x'), OK], requests: [plain('/a?b'), after('/x')] },
  { answers: [moved('http://127.0.0.1:PORT/x'), OK], requests: [plain('/a?b'), after('/x')] },
  { answers: [moved('HTTP://127.0.0.1:PORT/x?y#z'), OK], requests: [plain('/a?b'), after('/x?y')] },
  { answers: [moved('http://127.0.0.1:PORT'), OK], requests: [plain('/a?b'), after('/')] },
  { answers: [moved('http://127.0.0.1:PORT?x'), OK], requests: [plain('/a?b'), after('/?x')] },
  { answers: [moved('//127.0.0.1:PORT//a//..//b'), OK], requests: [plain('/a?b'), after('//a//b')] },
  { answers: [moved('/a//..//b'), OK], requests: [plain('/a?b'), after('/a//b')] },
  { answers: [moved('//127.0.0.1:PORT/a/../../b'), OK], requests: [plain('/a?b'), after('/b')] },
  {
    answers: [moved('/%zz'), OK],
    requests: [plain('/a?b')],
    fault:
      'Get "http://127.0.0.1:PORT/a?b#c": failed to parse Location header "/%zz": parse "/%zz": invalid URL escape "%zz"',
  },
  {
    answers: [moved('/a%'), OK],
    requests: [plain('/a?b')],
    fault:
      'Get "http://127.0.0.1:PORT/a?b#c": failed to parse Location header "/a%": parse "/a%": invalid URL escape "%"',
  },
  {
    answers: [moved('/a#%zz'), OK],
    requests: [plain('/a?b')],
    fault:
      'Get "http://127.0.0.1:PORT/a?b#c": failed to parse Location header "/a#%zz": parse "/a#%zz": invalid URL escape "%zz"',
  },
  { answers: [moved('/\\x'), OK], requests: [plain('/a?b'), after('/%5Cx')] },
  { answers: [moved('\\\\127.0.0.2\\x'), OK], requests: [plain('/a?b'), after('/%5C%5C127.0.0.2%5Cx')] },
  { answers: [moved('/\xff\xc3\xbc'), OK], requests: [plain('/a?b'), after('/%FF%C3%BC')] },
  { answers: [moved('/x?\xff\xfe'), OK], requests: [plain('/a?b'), after('/x?\xff\xfe')] },
  { answers: [moved('/x y?a b'), OK], requests: [plain('/a?b'), after('/x%20y?a b')] },
  { answers: [moved('/%41%2f%c3%ff'), OK], requests: [plain('/a?b'), after('/%41%2f%c3%ff')] },
  {
    answers: [moved('http://u:p@127.0.0.1:PORT/x'), OK],
    requests: [
      plain('/a?b'),
      'GET /x HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Authorization: Basic dTpw|Referer: http://127.0.0.1:PORT/a?b#c|Connection: close||',
    ],
  },
  {
    answers: [moved('http://u@127.0.0.1:PORT/x'), OK],
    requests: [
      plain('/a?b'),
      'GET /x HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Authorization: Basic dTo=|Referer: http://127.0.0.1:PORT/a?b#c|Connection: close||',
    ],
  },
  {
    answers: [moved('http://u:@127.0.0.1:PORT/x'), OK],
    requests: [
      plain('/a?b'),
      'GET /x HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Authorization: Basic dTo=|Referer: http://127.0.0.1:PORT/a?b#c|Connection: close||',
    ],
  },
  {
    answers: [moved('http://:p@127.0.0.1:PORT/x'), OK],
    requests: [
      plain('/a?b'),
      'GET /x HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Authorization: Basic OnA=|Referer: http://127.0.0.1:PORT/a?b#c|Connection: close||',
    ],
  },
  {
    answers: [moved('http://@127.0.0.1:PORT/x'), OK],
    requests: [
      plain('/a?b'),
      'GET /x HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Authorization: Basic Og==|Referer: http://127.0.0.1:PORT/a?b#c|Connection: close||',
    ],
  },
  {
    answers: [moved('http://u%40:p%2f%ff@127.0.0.1:PORT/x'), OK],
    requests: [
      plain('/a?b'),
      'GET /x HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Authorization: Basic dUA6cC//|Referer: http://127.0.0.1:PORT/a?b#c|Connection: close||',
    ],
  },
  {
    answers: [moved('http://a@b@127.0.0.1:PORT/'), OK],
    requests: [
      plain('/a?b'),
      'GET / HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Authorization: Basic YUBiOg==|Referer: http://127.0.0.1:PORT/a?b#c|Connection: close||',
    ],
  },
  {
    answers: [moved('http://\xff@127.0.0.1:PORT/'), OK],
    requests: [plain('/a?b')],
    fault:
      'Get "http://127.0.0.1:PORT/a?b#c": failed to parse Location header "http://\\xff@127.0.0.1:PORT/": parse "http://\\xff@127.0.0.1:PORT/": net/url: invalid userinfo',
  },
  {
    answers: [moved('http://u:%zz@127.0.0.1:PORT/'), OK],
    requests: [plain('/a?b')],
    fault:
      'Get "http://127.0.0.1:PORT/a?b#c": failed to parse Location header "http://u:%zz@127.0.0.1:PORT/": parse "http://u:%zz@127.0.0.1:PORT/": invalid URL escape "%zz"',
  },
  {
    answers: [moved('//u:p@127.0.0.1:PORT/x'), OK],
    requests: [
      plain('/a?b'),
      'GET /x HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Authorization: Basic dTpw|Referer: http://127.0.0.1:PORT/a?b#c|Connection: close||',
    ],
  },
  { answers: [moved('http:/b'), OK], requests: [plain('/a?b')], status: 302, body: '' },
  { answers: [moved('http:b'), OK], requests: [plain('/a?b')], status: 302, body: '' },
  { answers: [moved('http:///b'), OK], requests: [plain('/a?b')], status: 302, body: '' },
  { answers: [moved('mailto:x'), OK], requests: [plain('/a?b')], status: 302, body: '' },
  {
    answers: [moved('ftp://127.0.0.1/x'), OK],
    requests: [plain('/a?b')],
    fault: 'Get "ftp://127.0.0.1/x": unsupported protocol scheme "ftp"',
  },
  {
    answers: [moved('ftp://127.0.0.1:PORT/x'), OK],
    requests: [plain('/a?b')],
    fault: 'Get "ftp://127.0.0.1:PORT/x": unsupported protocol scheme "ftp"',
  },
  {
    answers: [moved('gopher://u:p@127.0.0.1/x'), OK],
    requests: [plain('/a?b')],
    fault: 'Get "gopher://u:***@127.0.0.1/x": unsupported protocol scheme "gopher"',
  },
  { answers: [moved('http://localhost:PORT/'), OK], requests: [plain('/a?b')], status: 302, body: '' },
  {
    answers: [moved('http://127.0.0.1:65536/x'), OK],
    requests: [plain('/a?b')],
    fault: 'Get "http://127.0.0.1:65536/x": dial tcp: address 65536: invalid port',
  },
  {
    answers: [moved('http://127.0.0.1:99999999999/x'), OK],
    requests: [plain('/a?b')],
    fault: 'Get "http://127.0.0.1:99999999999/x": dial tcp: address 99999999999: invalid port',
  },
  {
    answers: [moved('http://127.0.0.1:x/'), OK],
    requests: [plain('/a?b')],
    fault:
      'Get "http://127.0.0.1:PORT/a?b#c": failed to parse Location header "http://127.0.0.1:x/": parse "http://127.0.0.1:x/": invalid port ":x" after host',
  },
  {
    answers: [moved('http://127.0.0.1:/'), OK],
    requests: [plain('/a?b')],
    fault: 'Get "http://127.0.0.1:/": dial tcp 127.0.0.1:80: connect: connection refused',
  },
  {
    answers: [moved('http://127.0.0.1:1:2/'), OK],
    requests: [plain('/a?b')],
    fault:
      'Get "http://127.0.0.1:PORT/a?b#c": failed to parse Location header "http://127.0.0.1:1:2/": parse "http://127.0.0.1:1:2/": invalid port ":1:2" after host',
  },
  { answers: [moved('ftp://127.0.0.1:1:2/'), OK], requests: [plain('/a?b')], status: 302, body: '' },
  {
    answers: [moved('http://a b/'), OK],
    requests: [plain('/a?b')],
    fault:
      'Get "http://127.0.0.1:PORT/a?b#c": failed to parse Location header "http://a b/": parse "http://a b/": invalid character " " in host name',
  },
  {
    answers: [moved('http://a\\b/'), OK],
    requests: [plain('/a?b')],
    fault:
      'Get "http://127.0.0.1:PORT/a?b#c": failed to parse Location header "http://a\\\\b/": parse "http://a\\\\b/": invalid character "\\\\" in host name',
  },
  {
    answers: [moved('http://[::1/'), OK],
    requests: [plain('/a?b')],
    fault:
      'Get "http://127.0.0.1:PORT/a?b#c": failed to parse Location header "http://[::1/": parse "http://[::1/": missing \']\' in host',
  },
  { answers: [moved('http://[::1]/'), OK], requests: [plain('/a?b')], status: 302, body: '' },
  {
    answers: [moved('http://[127.0.0.1]/'), OK],
    requests: [plain('/a?b')],
    fault:
      'Get "http://127.0.0.1:PORT/a?b#c": failed to parse Location header "http://[127.0.0.1]/": parse "http://[127.0.0.1]/": invalid IP-literal',
  },
  {
    answers: [moved('http://x[::1]/'), OK],
    requests: [plain('/a?b')],
    fault:
      'Get "http://127.0.0.1:PORT/a?b#c": failed to parse Location header "http://x[::1]/": parse "http://x[::1]/": invalid IP-literal',
  },
  {
    answers: [moved('http://[x]/'), OK],
    requests: [plain('/a?b')],
    fault:
      'Get "http://127.0.0.1:PORT/a?b#c": failed to parse Location header "http://[x]/": parse "http://[x]/": invalid host: ParseAddr("x"): unable to parse IP',
  },
  { answers: [moved('http://[::1%25lo]/'), OK], requests: [plain('/a?b')], status: 302, body: '' },
  {
    answers: [moved('http://[::1%25]/'), OK],
    requests: [plain('/a?b')],
    fault:
      'Get "http://127.0.0.1:PORT/a?b#c": failed to parse Location header "http://[::1%25]/": parse "http://[::1%25]/": invalid host: ParseAddr("::1%"): zone must be a non-empty string',
  },
  { answers: [moved('http://[::1%25l%6f]/'), OK], requests: [plain('/a?b')], status: 302, body: '' },
  {
    answers: [moved('http://127.0.0.1%3aPORT/'), OK],
    requests: [plain('/a?b')],
    fault:
      'Get "http://127.0.0.1:PORT/a?b#c": failed to parse Location header "http://127.0.0.1%3aPORT/": parse "http://127.0.0.1%3aPORT/": invalid URL escape "%3a"',
  },
  {
    answers: [moved('http://127.0.0.%31:PORT/'), OK],
    requests: [plain('/a?b')],
    fault:
      'Get "http://127.0.0.1:PORT/a?b#c": failed to parse Location header "http://127.0.0.%31:PORT/": parse "http://127.0.0.%31:PORT/": invalid URL escape "%31"',
  },
  { answers: [moved('http://\xff/'), OK], requests: [plain('/a?b')], status: 302, body: '' },
  {
    answers: [moved(':80/'), OK],
    requests: [plain('/a?b')],
    fault:
      'Get "http://127.0.0.1:PORT/a?b#c": failed to parse Location header ":80/": parse ":80/": missing protocol scheme',
  },
  {
    answers: [moved('1:2/'), OK],
    requests: [plain('/a?b')],
    fault:
      'Get "http://127.0.0.1:PORT/a?b#c": failed to parse Location header "1:2/": parse "1:2/": first path segment in URL cannot contain colon',
  },
  { answers: [moved('a:b'), OK], requests: [plain('/a?b')], status: 302, body: '' },
  { answers: [moved('a/b:c'), OK], requests: [plain('/a?b'), after('/a/b:c')] },
  { answers: [moved('./a:b'), OK], requests: [plain('/a?b'), after('/a:b')] },
  { answers: [moved('*'), OK], requests: [plain('/a?b'), after('/*')] },
  { answers: [moved('/*'), OK], requests: [plain('/a?b'), after('/*')] },
  {
    answers: [moved('http://127.0.0.1:PORT/"<>^`{|}'), OK],
    requests: [plain('/a?b'), after('/%22%3C%3E%5E%60%7B%7C%7D')],
  },
  { answers: [moved('/"<>^`{|}'), OK], requests: [plain('/a?b'), after('/%22%3C%3E%5E%60%7B%7C%7D')] },
  { answers: [moved("/!'()*;@&=+$,[]"), OK], requests: [plain('/a?b'), after("/!'()*;@&=+$,[]")] },
  { answers: [moved('/;a=b'), OK], requests: [plain('/a?b'), after('/;a=b')] },
  {
    answers: [moved('\x01'), OK],
    requests: [plain('/a?b')],
    fault:
      'Get "http://127.0.0.1:PORT/a?b#c": net/http: HTTP/1.x transport connection broken: malformed MIME header line: "Location: \\x01"',
  },
  { answers: [moved('/ '), OK], requests: [plain('/a?b'), after('/')] },
  { answers: [moved('/x?a#'), OK], requests: [plain('/a?b'), after('/x?a')] },
  { answers: [moved('/x#a b'), OK], requests: [plain('/a?b'), after('/x')] },
  { answers: [moved('/x#\xff'), OK], requests: [plain('/a?b'), after('/x')] },
  { answers: [moved('//'), OK], requests: [plain('/a?b'), after('/a?b')] },
  { answers: [moved('///x'), OK], requests: [plain('/a?b'), after('///x')] },
  { answers: [moved('////x'), OK], requests: [plain('/a?b'), after('////x')] },
  { answers: [moved('.'), OK], requests: [plain('/a?b'), after('/')] },
  { answers: [moved('..'), OK], requests: [plain('/a?b'), after('/')] },
  { answers: [moved('./'), OK], requests: [plain('/a?b'), after('/')] },
  { answers: [moved('../'), OK], requests: [plain('/a?b'), after('/')] },
  { answers: [moved('/.'), OK], requests: [plain('/a?b'), after('/')] },
  { answers: [moved('/..'), OK], requests: [plain('/a?b'), after('/')] },
  { answers: [moved('/a/.'), OK], requests: [plain('/a?b'), after('/a/')] },
  { answers: [moved('/a/..'), OK], requests: [plain('/a?b'), after('/')] },
  { answers: [moved('a/./b'), OK], requests: [plain('/a?b'), after('/a/b')] },
  { answers: [moved('/b/c/../../../d'), OK], requests: [plain('/a?b'), after('/d')] },
  { answers: [moved('?x=%zz'), OK], requests: [plain('/a?b'), after('/a?x=%zz')] },
  {
    answers: [moved('http://127.0.0.1:0PORT/x'), OK],
    requests: [
      plain('/a?b'),
      'GET /x HTTP/1.1|Host: 127.0.0.1:0PORT|User-Agent: kube-probe/1.36|Accept: */*|Referer: http://127.0.0.1:PORT/a?b#c|Connection: close||',
    ],
  },
  { answers: [moved('http://127.0.0.1:PORT/a?b?c'), OK], requests: [plain('/a?b'), after('/a?b?c')] },
  { answers: [moved('http://127.0.0.1:PORT/?'), OK], requests: [plain('/a?b'), after('/?')] },
  {
    path: '//u:p@x/a#f',
    answers: [moved('/b'), OK],
    requests: [
      'GET /a HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Authorization: Basic dTpw|Connection: close||',
      'GET /b HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Authorization: Basic dTpw|Referer: http://127.0.0.1:PORT/a#f|Connection: close||',
    ],
  },
  {
    path: '//u%40:p@x/a',
    answers: [moved('/%zz'), OK],
    requests: [
      'GET /a HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Authorization: Basic dUA6cA==|Connection: close||',
    ],
    fault:
      'Get "http://u@:***@127.0.0.1:PORT/a": failed to parse Location header "/%zz": parse "/%zz": invalid URL escape "%zz"',
  },
  {
    path: '/a/b?q',
    answers: [moved('#g'), OK],
    requests: [
      plain('/a/b?q'),
      'GET /a/b?q HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Referer: http://127.0.0.1:PORT/a/b?q|Connection: close||',
    ],
  },
  {
    path: '/a/b/c',
    answers: [moved('../x'), OK],
    requests: [
      plain('/a/b/c'),
      'GET /a/x HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Referer: http://127.0.0.1:PORT/a/b/c|Connection: close||',
    ],
  },
  {
    path: '/a//b',
    answers: [moved('x'), OK],
    requests: [
      plain('/a//b'),
      'GET /a//x HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Referer: http://127.0.0.1:PORT/a//b|Connection: close||',
    ],
  },
  {
    path: '',
    answers: [moved('x'), OK],
    requests: [
      plain('/'),
      'GET /x HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Referer: http://127.0.0.1:PORT|Connection: close||',
    ],
  },
  {
    path: '',
    answers: [moved('?y'), OK],
    requests: [
      plain('/'),
      'GET /?y HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Referer: http://127.0.0.1:PORT|Connection: close||',
    ],
  },
  {
    headers: [['Host', 'a.example']],
    answers: [moved('/b'), OK],
    requests: [
      'GET /a?b HTTP/1.1|Host: a.example|User-Agent: kube-probe/1.36|Accept: */*|Connection: close||',
      'GET /b HTTP/1.1|Host: a.example|User-Agent: kube-probe/1.36|Accept: */*|Referer: http://127.0.0.1:PORT/a?b#c|Connection: close||',
    ],
  },
  {
    headers: [['Host', 'a.example']],
    answers: [moved('//127.0.0.1:PORT/b'), OK],
    requests: [
      'GET /a?b HTTP/1.1|Host: a.example|User-Agent: kube-probe/1.36|Accept: */*|Connection: close||',
      'GET /b HTTP/1.1|Host: a.example|User-Agent: kube-probe/1.36|Accept: */*|Referer: http://127.0.0.1:PORT/a?b#c|Connection: close||',
    ],
  },
  {
    headers: [['Host', 'a.example']],
    answers: [moved('http://127.0.0.1:PORT/b'), OK],
    requests: [
      'GET /a?b HTTP/1.1|Host: a.example|User-Agent: kube-probe/1.36|Accept: */*|Connection: close||',
      after('/b'),
    ],
  },
  {
    headers: [
      ['Referer', 'mine'],
      ['Referer', 'other'],
    ],
    answers: [moved('/b'), OK],
    requests: [
      'GET /a?b HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Referer: mine|Referer: other|Connection: close||',
      'GET /b HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Referer: mine|Connection: close||',
    ],
  },
  {
    headers: [['Referer', '']],
    answers: [moved('/b'), OK],
    requests: [
      'GET /a?b HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Referer: |Connection: close||',
      after('/b'),
    ],
  },
  {
    headers: [['Authorization', 'Bearer x']],
    answers: [moved('http://u:p@127.0.0.1:PORT/b'), OK],
    requests: [
      'GET /a?b HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Authorization: Bearer x|Connection: close||',
      'GET /b HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Authorization: Bearer x|Referer: http://127.0.0.1:PORT/a?b#c|Connection: close||',
    ],
  },
  {
    headers: [['Authorization', '']],
    answers: [moved('http://u:p@127.0.0.1:PORT/b'), OK],
    requests: [
      'GET /a?b HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Authorization: |Connection: close||',
      'GET /b HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Authorization: Basic dTpw|Referer: http://127.0.0.1:PORT/a?b#c|Connection: close||',
    ],
  },
  {
    headers: [
      ['Content-Type', 'a/b'],
      ['Content-Language', 'c'],
      ['Content-Encoding', 'd'],
      ['Content-Location', 'e'],
      ['Cookie', 'f'],
    ],
    answers: [moved('/b'), OK],
    requests: [
      'GET /a?b HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Content-Encoding: d|Content-Language: c|Content-Location: e|Content-Type: a/b|Cookie: f|Connection: close||',
      'GET /b HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Cookie: f|Referer: http://127.0.0.1:PORT/a?b#c|Connection: close||',
    ],
  },
  {
    headers: [['Content-Type', 'a/b']],
    answers: [moved('/b', '307 x'), OK],
    requests: [
      'GET /a?b HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Content-Type: a/b|Connection: close||',
      'GET /b HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Content-Type: a/b|Referer: http://127.0.0.1:PORT/a?b#c|Connection: close||',
    ],
  },
  {
    headers: [['Content-Type', 'a/b']],
    answers: [moved('/b', '303 x'), moved('/c', '307 x'), OK],
    requests: [
      'GET /a?b HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Content-Type: a/b|Connection: close||',
      after('/b'),
      'GET /c HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Referer: http://127.0.0.1:PORT/b|Connection: close||',
    ],
  },
  {
    answers: [moved('/b/'), moved('c?d'), moved('../e'), OK],
    requests: [
      plain('/a?b'),
      after('/b/'),
      'GET /b/c?d HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Referer: http://127.0.0.1:PORT/b/|Connection: close||',
      'GET /e HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Referer: http://127.0.0.1:PORT/b/c?d|Connection: close||',
    ],
  },
  {
    headers: [['Referer', 'mine']],
    answers: [moved('/b'), moved('/c'), OK],
    requests: [
      'GET /a?b HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Referer: mine|Connection: close||',
      'GET /b HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Referer: mine|Connection: close||',
      'GET /c HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Referer: mine|Connection: close||',
    ],
  },
  {
    answers: [
      moved('http://u:p@127.0.0.1:PORT/b'),
      moved('/c'),
      moved('//v@127.0.0.1:PORT/d'),
      moved('//127.0.0.1:PORT/e'),
      OK,
    ],
    requests: [
      plain('/a?b'),
      'GET /b HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Authorization: Basic dTpw|Referer: http://127.0.0.1:PORT/a?b#c|Connection: close||',
      'GET /c HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Authorization: Basic dTpw|Referer: http://127.0.0.1:PORT/b|Connection: close||',
      'GET /d HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Authorization: Basic djo=|Referer: http://127.0.0.1:PORT/c|Connection: close||',
      'GET /e HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Referer: http://127.0.0.1:PORT/d|Connection: close||',
    ],
  },
  {
    headers: [['Host', 'a.example']],
    answers: [moved('http://127.0.0.1:PORT/b'), moved('/c'), OK],
    requests: [
      'GET /a?b HTTP/1.1|Host: a.example|User-Agent: kube-probe/1.36|Accept: */*|Connection: close||',
      after('/b'),
      'GET /c HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Referer: http://127.0.0.1:PORT/b|Connection: close||',
    ],
  },
  {
    answers: [moved('/again?x')],
    requests: [
      plain('/a?b'),
      after('/again?x'),
      'GET /again?x HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Referer: http://127.0.0.1:PORT/again?x|Connection: close||',
      'GET /again?x HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Referer: http://127.0.0.1:PORT/again?x|Connection: close||',
      'GET /again?x HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Referer: http://127.0.0.1:PORT/again?x|Connection: close||',
      'GET /again?x HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Referer: http://127.0.0.1:PORT/again?x|Connection: close||',
      'GET /again?x HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Referer: http://127.0.0.1:PORT/again?x|Connection: close||',
      'GET /again?x HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Referer: http://127.0.0.1:PORT/again?x|Connection: close||',
      'GET /again?x HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Referer: http://127.0.0.1:PORT/again?x|Connection: close||',
      'GET /again?x HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Referer: http://127.0.0.1:PORT/again?x|Connection: close||',
    ],
    fault: 'Get "/again?x": stopped after 10 redirects',
  },
  {
    answers: [moved('http://u:p@127.0.0.1:PORT/again')],
    requests: [
      plain('/a?b'),
      'GET /again HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Authorization: Basic dTpw|Referer: http://127.0.0.1:PORT/a?b#c|Connection: close||',
      'GET /again HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Authorization: Basic dTpw|Referer: http://127.0.0.1:PORT/again|Connection: close||',
      'GET /again HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Authorization: Basic dTpw|Referer: http://127.0.0.1:PORT/again|Connection: close||',
      'GET /again HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Authorization: Basic dTpw|Referer: http://127.0.0.1:PORT/again|Connection: close||',
      'GET /again HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Authorization: Basic dTpw|Referer: http://127.0.0.1:PORT/again|Connection: close||',
      'GET /again HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Authorization: Basic dTpw|Referer: http://127.0.0.1:PORT/again|Connection: close||',
      'GET /again HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Authorization: Basic dTpw|Referer: http://127.0.0.1:PORT/again|Connection: close||',
      'GET /again HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Authorization: Basic dTpw|Referer: http://127.0.0.1:PORT/again|Connection: close||',
      'GET /again HTTP/1.1|Host: 127.0.0.1:PORT|User-Agent: kube-probe/1.36|Accept: */*|Authorization: Basic dTpw|Referer: http://127.0.0.1:PORT/again|Connection: close||',
    ],
    fault: 'Get "http://u:p@127.0.0.1:PORT/again": stopped after 10 redirects',
  },
  { answers: [moved('/b', '300 x'), OK], requests: [plain('/a?b')], status: 300, body: '' },
  { answers: [moved('/b', '301 x'), OK], requests: [plain('/a?b'), after('/b')] },
  { answers: [moved('/b', '303 x'), OK], requests: [plain('/a?b'), after('/b')] },
  { answers: [moved('/b', '304 x'), OK], requests: [plain('/a?b')], status: 304, body: '' },
  { answers: [moved('/b', '305 x'), OK], requests: [plain('/a?b')], status: 305, body: '' },
  { answers: [moved('/b', '306 x'), OK], requests: [plain('/a?b')], status: 306, body: '' },
  { answers: [moved('/b', '307 x'), OK], requests: [plain('/a?b'), after('/b')] },
  { answers: [moved('/b', '308 x'), OK], requests: [plain('/a?b'), after('/b')] },
  { answers: [moved('/b', '201 x'), OK], requests: [plain('/a?b')], status: 201, body: '' },
  { answers: [moved('/b', '302 Found', 'Location: /c\r\n'), OK], requests: [plain('/a?b'), after('/b')] },
  { answers: [moved('', '302 Found', 'Location: /c\r\n'), OK], requests: [plain('/a?b')], status: 302, body: '' },
  {
    answers: ['HTTP/1.1 302 Found\r\nContent-Length: 2\r\n\r\nhi'],
    requests: [plain('/a?b')],
    status: 302,
    body: 'hi',
  },
  {
    answers: ['HTTP/1.1 302 Found\r\nLocation: http://127.0.0.2/\r\n\r\nbody'],
    requests: [plain('/a?b')],
    status: 302,
    body: 'body',
  },
];
