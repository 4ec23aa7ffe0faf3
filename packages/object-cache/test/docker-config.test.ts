import { expect, test } from 'vitest';
import { parseDockerConfigJson, parseDockercfg } from '../src/docker-config.ts';

const auth = (text: string) => Buffer.from(text).toString('base64');

test.each<[string, object, object]>([
  ['username and password', { username: 'u', password: 'p' }, { username: 'u', password: 'p' }],
  ['auth', { auth: auth('u:p:q') }, { username: 'u', password: 'p:q' }],
  [
    'auth, which takes precedence over username and password',
    { auth: auth('u:p'), username: 'x' },
    { username: 'u', password: 'p' },
  ],
  ['auth on two lines', { auth: 'dTpw\r\ndw==\n' }, { username: 'u', password: 'pw' }],
  ['auth without base64 padding', { auth: 'dTpwdw' }, { username: 'u', password: 'pw' }],
  ['an email', { username: 'u', email: 'e' }, { username: 'u', password: '', email: 'e' }],
  ['nothing', {}, { username: '', password: '' }],
  ['null in some fields', { username: 'u', password: null, auth: null, email: null }, { username: 'u', password: '' }],
  [
    'field names of any case',
    { Username: 'u', PASSWORD: 'p', Email: 'e' },
    { username: 'u', password: 'p', email: 'e' },
  ],
  [
    'a field name of any case, with auth and username',
    { Auth: auth('u:p'), username: 'x' },
    { username: 'u', password: 'p' },
  ],
  [
    'a field name that folds to a known name',
    { u\u017fername: 'u', pa\u00dfword: 'p' },
    { username: 'u', password: '' },
  ],
  [
    'repeated field names, of which the last counts',
    { username: 'a', Username: 'b', USERNAME: null },
    { username: 'b', password: '' },
  ],
])('a login of a Docker configuration with %s is parsed as $2', (_name, entry, login) => {
  expect(parseDockercfg(JSON.stringify({ r: entry }))).toEqual(new Map([['r', login]]));
  expect(parseDockerConfigJson(JSON.stringify({ auths: { r: entry } }))).toEqual(new Map([['r', login]]));
});

test('a Docker configuration may have no logins', () => {
  for (const text of ['{}', '{"auths":null}', '{"auths":{}}', 'null', '{"auths":{"r":{}},"Auths":null}']) {
    expect(parseDockerConfigJson(text).size).toBe(0);
  }
  for (const text of ['{}', 'null']) expect(parseDockercfg(text).size).toBe(0);
});

test('field names of a Docker configuration match in any case, registries only exactly', () => {
  const login = (username: string) => ({ username, password: '' });
  const entries = { r: login('1'), R: login('2') };
  const both = new Map([
    ['r', login('1')],
    ['R', login('2')],
  ]);
  expect(parseDockercfg(JSON.stringify(entries))).toEqual(both);
  expect(parseDockerConfigJson(JSON.stringify({ AUTHS: entries }))).toEqual(both);
  const apart = { auths: { r: login('1') }, Auths: { R: login('2') } };
  expect(parseDockerConfigJson(JSON.stringify(apart))).toEqual(both);
});

test.each([
  ['no JSON', '{hunter2', 'it is not JSON', 'it is not JSON'],
  ['a list', '["hunter2"]', 'the document is not an object', 'the document is not an object'],
  ['an invalid login', '{"auths":{"r":5},"r":5}', 'auths["r"] is not an object', '["r"] is not an object'],
])(
  'the error for a Docker configuration with %s has the position and does not quote the text',
  (_name, text, json, cfg) => {
    expect(() => parseDockerConfigJson(text)).toThrow(new Error(json));
    const alone = text.replace('"auths":{"r":5},', '');
    expect(() => parseDockercfg(alone)).toThrow(new Error(cfg));
  },
);

test.each([
  [{ auth: 'dTpw*' }, 'the entry "r": auth is not base64'],
  [{ auth: 'dTpwdw=' }, 'the entry "r": auth is not base64'],
  [{ auth: auth('nocolon') }, 'the entry "r": unable to parse auth field'],
  [{ password: 5 }, 'the entry "r": password is not a string'],
  [{ Password: 5, password: 'p' }, 'the entry "r": password is not a string'],
])('refuses the login %j in a Docker configuration', (entry, message) => {
  expect(() => parseDockercfg(JSON.stringify({ r: entry }))).toThrow(message);
});
