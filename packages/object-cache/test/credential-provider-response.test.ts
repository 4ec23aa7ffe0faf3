import { describe, expect, test } from 'vitest';
import { parseProviderResponse, providerRequest } from '../src/credential-provider-response.ts';

const V1 = 'credentialprovider.kubelet.k8s.io/v1';

test.each<[string, Parameters<typeof providerRequest>[2], object]>([
  ['no service account', undefined, {}],
  ['a service account without annotations', { token: 't', annotations: {} }, { serviceAccountToken: 't' }],
  [
    'a service account with annotations',
    { token: 't', annotations: { a: 'b' } },
    { serviceAccountToken: 't', serviceAccountAnnotations: { a: 'b' } },
  ],
])(
  'the request to a credential provider for %s contains kind, version, image and the fields $2',
  (_name, account, more) => {
    const text = providerRequest(V1, 'example.com/app', account);
    expect(text.endsWith('\n')).toBe(true);
    const request = { kind: 'CredentialProviderRequest', apiVersion: V1, image: 'example.com/app' };
    expect(JSON.parse(text)).toEqual({ ...request, ...more });
  },
);

describe('the response of a credential provider', () => {
  const answer = { kind: 'CredentialProviderResponse', apiVersion: V1, cacheKeyType: 'Image' };
  const parse = (value: unknown) => parseProviderResponse(JSON.stringify(value), V1);

  test.each<[string, unknown, number | undefined]>([
    ['for the duration in the response', '5m', 300_000],
    ['not at all', '0s', 0],
    ['for the default duration of the configuration', null, undefined],
    ['for the default duration if the response has none', undefined, undefined],
  ])('the response of a credential provider is cached %s', (_name, cacheDuration, cacheDurationMs) => {
    const auth = { 'example.com': { username: 'u', password: 'p' } };
    expect(parse({ ...answer, auth, cacheDuration })).toEqual({
      logins: new Map([['example.com', auth['example.com']]]),
      cacheKeyType: 'Image',
      cacheDurationMs,
    });
  });

  test.each<[string, unknown, string]>([
    ['no JSON object', [], 'response: must be an object'],
    ['a version that is no string', { ...answer, apiVersion: 1 }, 'response.apiVersion: must be a string'],
    ['another version', { ...answer, apiVersion: 'v2' }, `apiVersion:${V1}, actual apiVersion:v2`],
    ['a kind that is no string', { ...answer, kind: 1 }, 'response.kind: must be a string'],
    ['another kind', { ...answer, kind: 'Pod' }, 'unexpected Kind: "Pod"'],
    ['invalid logins', { ...answer, auth: [] }, 'response.auth: must be an object'],
    ['an invalid login', { ...answer, auth: { r: 5 } }, 'response.auth["r"]: must be an object'],
    ['an invalid duration', { ...answer, cacheDuration: 5 }, 'response.cacheDuration: must be a duration'],
    ['no key of its cache', { ...answer, cacheKeyType: '' }, 'did not return a valid cacheKeyType'],
  ])('refuses a credential provider response with %s', (_name, value, message) => {
    expect(() => parse(value)).toThrow(message);
  });

  const login = { username: 'u', password: 'p' };
  test.each<[string, object]>([
    ['at the top level', { ...answer, hunter2: true }],
    ['of a login', { ...answer, auth: { r: { ...login, hunter2: true } } }],
  ])(
    'refuses a credential provider response with a field that upstream does not know, %s, without quoting the field',
    (_name, value) => {
      expect(() => parse(value)).toThrow(/^error decoding credential provider plugin response from stdout$/);
    },
  );

  test('parses a credential provider response in YAML like JSON', () => {
    const yaml = `# from a script
kind: CredentialProviderResponse
apiVersion: ${V1}
cacheKeyType: Registry
cacheDuration: 5m
auth:
  example.com:
    username: u
    password: "p: 1"
`;
    expect(parseProviderResponse(yaml, V1)).toEqual({
      logins: new Map([['example.com', { username: 'u', password: 'p: 1' }]]),
      cacheKeyType: 'Registry',
      cacheDurationMs: 300_000,
    });
  });

  test.each([
    ['that is neither JSON nor YAML', 'kind: [hunter2'],
    ['that is a word', 'hunter2'],
    ['that is empty', ''],
    ['in YAML with a field twice', `kind: hunter2\nkind: hunter2\napiVersion: ${V1}`],
    [
      'in YAML of more than 64 KiB',
      `kind: CredentialProviderResponse\napiVersion: ${V1}\ncacheKeyType: Image\n#${' '.repeat(65_536)}`,
    ],
    ['in YAML with an unknown field', `kind: CredentialProviderResponse\napiVersion: ${V1}\nhunter2: 1`],
  ])('refuses a credential provider response %s, without quoting the response', (_name, text) => {
    expect(() => parseProviderResponse(text, V1)).toThrow(
      /^error decoding credential provider plugin response from stdout$/,
    );
  });
});
