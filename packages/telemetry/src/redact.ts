const CENSOR = '[redacted]';
/** Largest depth of logged values. Deeper values belong to objects that were logged whole by mistake. */
const MAX_DEPTH = 8;

/**
 * Fields whose values are never written, in lower case without `-` and `_`. Fields that only hold the name of a secret
 * are not included.
 */
const SECRET_FIELDS: ReadonlySet<string> = new Set([
  'accesstoken',
  'auth',
  'authorization',
  'bearertoken',
  'clientkey',
  'clientkeydata',
  'clientsecret',
  'cookie',
  'dockerconfigjson',
  'idtoken',
  'identitytoken',
  'keydata',
  'passwd',
  'password',
  'privatekey',
  'proxyauthorization',
  'refreshtoken',
  'registrytoken',
  'secret',
  'setcookie',
  'token',
]);

/**
 * Returns a value without its secrets, for logging (W4). Secret fields are censored at any depth, and so are bearer
 * tokens, passwords in URLs and JSON web tokens inside texts. Only plain objects and lists are traversed.
 */
export function redact(value: unknown): unknown {
  return redactAt(value, 0);
}

/** Applies {@link redact} to the fields of a log line. */
export function redactFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, redactField(key, value, 0)]));
}

function redactAt(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return redactText(value);
  if (Array.isArray(value)) return depth >= MAX_DEPTH ? CENSOR : value.map((item) => redactAt(item, depth + 1));
  if (!isPlainObject(value)) return value;
  if (depth >= MAX_DEPTH) return CENSOR;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, redactField(key, item, depth + 1)]));
}

function redactField(key: string, value: unknown, depth: number): unknown {
  if (value === undefined || value === null || value === '') return value;
  const isSecret = SECRET_FIELDS.has(key.toLowerCase().replace(/[-_]/g, ''));
  return isSecret && typeof value !== 'object' ? CENSOR : redactAt(value, depth);
}

function redactText(text: string): string {
  if (!/bearer|basic|:\/\/|eyJ/i.test(text)) return text;
  return text
    .replace(/\b(bearer|basic)\s+[\w.~+/=-]{8,}/gi, `$1 ${CENSOR}`)
    .replace(/(:\/\/[^/\s:@]*):[^/\s@]+@/g, `$1:${CENSOR}@`)
    .replace(/[\w.-]+/g, withoutWebTokens);
}

/**
 * Censors JSON web tokens: three parts separated by dots, the first of which starts with the base64 encoding of `{"`.
 * The time is linear in the length of the text, because logs can contain text that a container controls.
 */
function withoutWebTokens(text: string): string {
  const parts = text.split('.');
  const told: string[] = [];
  let tokenEnd = 0;
  for (const [at, part] of parts.entries()) {
    if (at < tokenEnd) continue;
    const begins = part.search(/\beyJ[\w-]{8,}$/);
    const isToken = begins >= 0 && at + 2 < parts.length && parts[at + 1] !== '';
    told.push(isToken ? part.slice(0, begins) + CENSOR : part);
    if (isToken) tokenEnd = at + 3;
  }
  return told.join('.');
}

function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}
