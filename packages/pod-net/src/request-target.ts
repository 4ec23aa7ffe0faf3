/** What may stand in a path as it is; everything else is written as `%XX`. */
const PATH = /[^A-Za-z0-9\-_.~!$&'()*+,;=:@[\]/%]/gu;
const QUERY = /[^!-~]/gu;
const SCHEME = /^[A-Za-z][A-Za-z0-9+.-]*:/;

/**
 * What follows the method in the request for a handler's `path`: its path and query, as the author wrote them wherever they can be sent
 * like that. A scheme and a host in it count for nothing, a fragment is not sent; what is no URL at all is taken for a path.
 * (`formatURL` in `pkg/probe/http/request.go`)
 */
export function requestTarget(path: string): string {
  if (!isUrl(path)) return rooted(path.replace(/[^A-Za-z0-9\-_.~$&+,;=:@/]/gu, percentEncoded));
  const withoutFragment = path.split('#', 1)[0] ?? '';
  const withoutScheme = withoutFragment.replace(SCHEME, '');
  const afterHost = withoutScheme.startsWith('//') ? withoutScheme.replace(/^\/\/[^/?]*/, '') : withoutScheme;
  const mark = afterHost.indexOf('?');
  const [own, query] = mark < 0 ? [afterHost, ''] : [afterHost.slice(0, mark), afterHost.slice(mark)];
  return rooted(own.replace(PATH, percentEncoded)) + query.replace(QUERY, percentEncoded);
}

function isUrl(path: string): boolean {
  if (/\p{Cc}/u.test(path)) return false;
  const [own = ''] = path.split(/[?#]/, 1);
  if (/%(?![0-9A-Fa-f]{2})/.test(own)) return false;
  const [first = ''] = own.replace(SCHEME, '').split('/', 1);
  return !first.includes(':');
}

function rooted(path: string): string {
  return path.startsWith('/') ? path : `/${path}`;
}

function percentEncoded(character: string): string {
  return [...new TextEncoder().encode(character)]
    .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
    .join('');
}
