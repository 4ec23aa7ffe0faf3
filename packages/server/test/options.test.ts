import { expect, test } from 'vitest';
import { Authentication, alwaysAllow, SecuredServer, streamEndpoints, WebhookAuthorization } from '../src/index.ts';

const COMPONENTS = {
  authorization: alwaysAllow,
  authentication: { identify: () => undefined as never },
  certificate: { onChange: () => undefined } as never,
  endpoints: {},
};

test.each([
  [{ authentication: undefined }, 'component authentication is missing'],
  [{ authentication: {} }, 'component authentication has no method identify'],
  [{ authorization: undefined }, 'component authorization is missing'],
  [{ authorization: { allow: () => true } }, 'component authorization has no method allows'],
])('W1: a secured server without access control is refused at construction: %j: %s', (components, message) => {
  expect(() => new SecuredServer({ ...COMPONENTS, ...components } as never)).toThrow(
    expect.objectContaining({ code: 'InvalidOptions', message: `SecuredServer: ${message}` }),
  );
});

test.each([
  [{ maxConnections: 0 }, 'maxConnections must be a whole number of at least 1, not 0'],
  [{ maxStrangers: 0 }, 'maxStrangers must be a whole number of at least 1, not 0'],
  [{ maxHeaderBytes: 0 }, 'maxHeaderBytes must be a whole number of at least 1, not 0'],
  [{ receiveMs: 0 }, 'receiveMs must be above 0, not 0'],
  [{ answerMs: 0 }, 'answerMs must be above 0, not 0'],
  [{ stallMs: 0 }, 'stallMs must be above 0, not 0'],
  [{ maxInFlight: 0 }, 'maxInFlight must be a whole number of at least 1, not 0'],
])('the secured server refuses the options %j and names the invalid one', (options, message) => {
  expect(() => new SecuredServer(COMPONENTS, { limits: options })).toThrow(
    expect.objectContaining({ code: 'InvalidOptions', message: expect.stringContaining(message) }),
  );
});

test.each([[{ tokenTtlMs: -1 }, 'tokenTtlMs must be at least 0, not -1']])(
  'authentication refuses the options %j and names the invalid one',
  (options, message) => {
    expect(() => new Authentication({}, { anonymous: true, ...options })).toThrow(
      expect.objectContaining({ code: 'InvalidOptions', message: expect.stringContaining(message) }),
    );
  },
);

test.each([
  [{ allowedTtlMs: -1 }, 'allowedTtlMs must be at least 0, not -1'],
  [{ deniedTtlMs: -1 }, 'deniedTtlMs must be at least 0, not -1'],
])('authorisation refuses the options %j and names the invalid one', (options, message) => {
  expect(
    () =>
      new WebhookAuthorization(
        { reviewer: { reviewAccess: () => undefined as never } },
        { nodeName: 'n1', ...options },
      ),
  ).toThrow(expect.objectContaining({ code: 'InvalidOptions', message: expect.stringContaining(message) }));
});

test.each([[{ idleTimeoutMs: 0 }, 'idleTimeoutMs must be above 0, not 0']])(
  'streaming refuses the options %j and names the invalid one',
  (options, message) => {
    expect(() => streamEndpoints({} as never, options)).toThrow(
      expect.objectContaining({ code: 'InvalidOptions', message: expect.stringContaining(message) }),
    );
  },
);

test('the secured server refuses an invalid port', () => {
  const message = 'port must be a whole number from 0 to 65535, not 65536';
  expect(() => new SecuredServer(COMPONENTS, { port: 65_536 })).toThrow(
    expect.objectContaining({ code: 'InvalidOptions', message: expect.stringContaining(message) }),
  );
});
