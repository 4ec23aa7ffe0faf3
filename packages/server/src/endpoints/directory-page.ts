import type { Reply } from '../http/reply.ts';

const MAX_ENTRIES = 10_000;
const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&#34;',
  "'": '&#39;',
};

/** Renders a directory as Go's file server does, because programs parse that format (`dirList`, `net/http/fs.go`). */
export function directoryPage(entries: readonly { readonly name: string; readonly kind: string }[]): Reply {
  const links = entries.slice(0, MAX_ENTRIES).map(({ name, kind }) => {
    // A name that is not valid UTF-8 is listed with replacement characters. No URL leads to such a file.
    const legible = name.toWellFormed();
    const shown = kind === 'directory' ? `${legible}/` : legible;
    return `<a href="${hrefOf(shown)}">${shown.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '')}</a>\n`;
  });
  const body = `<!doctype html>\n<meta name="viewport" content="width=device-width">\n<pre>\n${links.join('')}</pre>\n`;
  return {
    status: 200,
    headers: { 'Content-Type': 'text/html; charset=utf-8', 'X-Content-Type-Options': 'nosniff' },
    body,
  };
}

/**
 * Encodes a name as Go encodes a URL's path. A name with a colon before its first slash gets `./`, because a browser
 * would read the part before the colon as a scheme.
 */
function hrefOf(name: string): string {
  const escaped = encodeURIComponent(name)
    .replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
    .replace(/%(?:24|26|2B|2C|2F|3A|3B|3D|40)/g, decodeURIComponent);
  return /^[^/]*:/.test(escaped) ? `./${escaped}` : escaped;
}
