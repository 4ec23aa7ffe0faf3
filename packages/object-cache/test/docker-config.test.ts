import { expect, test } from 'vitest';
import { parseDockerConfigJson, parseDockercfg } from '../src/docker-config.ts';

const auth = (text: string) => Buffer.from(text).toString('base64');

test.each<[string, object, object]>([
  ['a name and a password', { username: 'u', password: 'p' }, { username: 'u', password: 'p' }],
  ['both in one', { auth: auth('u:p:q') }, { username: 'u', password: 'p:q' }],
  ['both in one, which goes before them', { auth: auth('u:p'), username: 'x' }, { username: 'u', password: 'p' }],
  ['both in one, on two lines', { auth: 'dTpw\r\ndw==\n' }, { username: 'u', password: 'pw' }],
  ['both in one, without its padding', { auth: 'dTpwdw' }, { username: 'u', password: 'pw' }],
  ['an address besides', { username: 'u', email: 'e' }, { username: 'u', password: '', email: 'e' }],
  ['nothing', {}, { username: '', password: '' }],
  ['null for what it has', { username: 'u', password: null, auth: null, email: null }, { username: 'u', password: '' }],
  ['names of any case', { Username: 'u', PASSWORD: 'p', Email: 'e' }, { username: 'u', password: 'p', email: 'e' }],
  ['both in one, by a name of any case', { Auth: auth('u:p'), username: 'x' }, { username: 'u', password: 'p' }],
  ['a name that folds to one', { u\u017fername: 'u', pa\u00dfword: 'p' }, { username: 'u', password: '' }],
  [
    'names that are the same, of which the last counts',
    { username: 'a', Username: 'b', USERNAME: null },
    { username: 'b', password: '' },
  ],
])('a login has %s', (_name, entry, login) => {
  expect(parseDockercfg(JSON.stringify({ r: entry }))).toEqual(new Map([['r', login]]));
  expect(parseDockerConfigJson(JSON.stringify({ auths: { r: entry } }))).toEqual(new Map([['r', login]]));
});

test('a configuration may have no logins', () => {
  for (const text of ['{}', '{"auths":null}', '{"auths":{}}', 'null', '{"auths":{"r":{}},"Auths":null}']) {
    expect(parseDockerConfigJson(text).size).toBe(0);
  }
  for (const text of ['{}', 'null']) expect(parseDockercfg(text).size).toBe(0);
});

test('field names match in any case, registries only in theirs', () => {
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
  ['a login that is none', '{"auths":{"r":5},"r":5}', 'auths["r"] is not an object', '["r"] is not an object'],
])('%s is told by its place, and nothing of the text with it', (_name, text, json, cfg) => {
  expect(() => parseDockerConfigJson(text)).toThrow(new Error(json));
  const alone = text.replace('"auths":{"r":5},', '');
  expect(() => parseDockercfg(alone)).toThrow(new Error(cfg));
});

test.each([
  [{ auth: 'dTpw*' }, 'the entry "r": auth is not base64'],
  [{ auth: 'dTpwdw=' }, 'the entry "r": auth is not base64'],
  [{ auth: auth('nocolon') }, 'the entry "r": unable to parse auth field'],
  [{ password: 5 }, 'the entry "r": password is not a string'],
  [{ Password: 5, password: 'p' }, 'the entry "r": password is not a string'],
])('%j is no login', (entry, message) => {
  expect(() => parseDockercfg(JSON.stringify({ r: entry }))).toThrow(message);
});
