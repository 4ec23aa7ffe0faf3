/**
 * Length-prefixed words of the SPDY header dictionary. In the dictionary, each word is preceded by its length in four
 * bytes; `_` stands for a space.
 */
const WORDS =
  'options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow ' +
  'authorization cache-control connection content-base content-encoding content-language content-length content-location ' +
  'content-md5 content-range content-type date etag expect expires from host if-match if-modified-since if-none-match ' +
  'if-range if-unmodified-since last-modified location max-forwards pragma proxy-authenticate proxy-authorization range ' +
  'referer retry-after server te trailer transfer-encoding upgrade user-agent vary via warning www-authenticate method get ' +
  'status 200_OK version HTTP/1.1 url public set-cookie keep-alive origin';

const REST =
  '1001012012022052063003023033043053063074024054064074084094104114124134144154164175025045052' +
  '03 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden' +
  '404 Not Found500 Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct ' +
  'Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,' +
  'application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,' +
  'utf-,*,enq=0.';

/** Dictionary that SPDY compresses header blocks with (SPDY protocol, draft 3, 2.6.10.1). */
export const headerDictionary: Buffer = Buffer.concat([
  ...WORDS.split(' ').flatMap((word) => {
    const text = word.replace('_', ' ');
    return [lengthOf(text), Buffer.from(text)];
  }),
  Buffer.from(REST),
]);

function lengthOf(word: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(word.length);
  return length;
}
