import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { requestOutcome } from '../src/request-outcome.ts';
import { isExpired, retryDelayMs, rotationDeadlineMs, subjectMismatch } from '../src/rotation-rules.ts';
import { type RotationState, requestIdentity, rotationStep } from '../src/rotation-step.ts';
import { servingSubject } from '../src/serving-subject.ts';
import { datedName, datedNames } from '../src/store-names.ts';
import { canonicalIp, nodeSubject } from '../src/subject.ts';
import { DAY_MS, makePair, START_MS } from './fixtures.ts';

const pair = makePair();
const subject = nodeSubject('n1');

describe('the rotation deadline', () => {
  test("the rotation deadline is after 70 to 90% of a certificate's lifetime for any random number", () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, noNaN: true }), fc.integer({ min: 1, max: 1e12 }), (fraction, lifeMs) => {
        const share = rotationDeadlineMs({ notBeforeMs: 0, notAfterMs: lifeMs }, fraction) / lifeMs;
        expect(share).toBeGreaterThanOrEqual(0.7 - 1e-9);
        expect(share).toBeLessThanOrEqual(0.9 + 1e-9);
      }),
    );
  });
});

test('the rotation deadline counts from notBefore of the certificate', () => {
  expect(rotationDeadlineMs({ notBeforeMs: 1000, notAfterMs: 2000 }, 0.5)).toBe(1800);
});

describe('next action of a certificate manager', () => {
  const state: RotationState = {
    nowMs: START_MS,
    pair,
    subject,
    rotateAtMs: START_MS + 0.8 * DAY_MS,
    rotate: true,
    forced: false,
    issuedFor: undefined,
  };
  const other = { ...subject, ipAddresses: ['10.0.0.9'] };
  test.each([
    ['waits for the rotation deadline', {}, { do: 'wait', untilMs: state.rotateAtMs }],
    ['waits while the subject is unknown', { subject: undefined, pair: undefined }, { do: 'wait' }],
    ['requests a certificate if there is none', { pair: undefined }, { do: 'request', why: 'there is no certificate' }],
    [
      'requests a certificate if there is none, even with rotation disabled',
      { pair: undefined, rotate: false },
      { do: 'request' },
    ],
    [
      'requests a certificate at the rotation deadline',
      { nowMs: state.rotateAtMs },
      { do: 'request', why: 'the certificate will expire' },
    ],
    [
      'requests a certificate after expiry',
      { nowMs: START_MS + 2 * DAY_MS },
      { do: 'request', why: 'the certificate has expired' },
    ],
    ['waits after expiry if rotation is disabled', { nowMs: START_MS + 2 * DAY_MS, rotate: false }, { do: 'wait' }],
    [
      'requests a certificate if the current one lacks an address',
      { subject: other },
      { do: 'request', why: expect.stringContaining('ipAddresses: 10.0.0.9') },
    ],
    ['waits if the signer omitted an address that was requested', { subject: other, issuedFor: other }, { do: 'wait' }],
    [
      'requests a certificate if the current one must be replaced',
      { forced: true },
      { do: 'request', why: 'the certificate must be replaced by one of its own' },
    ],
  ])('rotationStep %s', (_name, change, step) => {
    expect(rotationStep({ ...state, ...change })).toMatchObject(step);
  });
});

describe('credentials for a certificate request', () => {
  test.each([
    ['no certificate', undefined, true, START_MS, 0, 'bootstrap'],
    ['no certificate after a failure', undefined, true, START_MS, 1, 'bootstrap'],
    ['a valid certificate', pair, true, START_MS, 0, 'current'],
    ['an expired certificate', pair, true, START_MS + 2 * DAY_MS, 0, 'bootstrap'],
    ['a certificate that the API server rejects, after two failures', pair, false, START_MS, 2, 'bootstrap'],
    ['a certificate that the API server rejects, after three failures', pair, false, START_MS, 3, 'current'],
    ['an expired certificate after the bootstrap credentials failed', pair, true, START_MS + 2 * DAY_MS, 1, 'current'],
  ] as const)(
    'with %s, a certificate is requested with the credentials: $5',
    (_name, current, isAccepted, nowMs, failures, identity) => {
      expect(requestIdentity(current, isAccepted, nowMs, failures)).toBe(identity);
    },
  );
});

test('a certificate matches a subject if it has all wanted names, even if it has more', () => {
  const { leaf } = makePair({ subject: { ...subject, dnsNames: ['a', 'b'], ipAddresses: ['fd00::1'] } });
  expect(subjectMismatch(leaf, { ...subject, dnsNames: ['b'], ipAddresses: ['fd00::1'] })).toBeUndefined();
  expect(subjectMismatch(leaf, { ...subject, dnsNames: ['c'] })).toBe('it lacks dnsNames: c');
  expect(subjectMismatch(leaf, { ...subject, dnsNames: ['c'], ipAddresses: ['10.0.0.1'] })).toBe(
    'it lacks dnsNames: c, ipAddresses: 10.0.0.1',
  );
  expect(subjectMismatch(leaf, { ...subject, organizations: ['system:masters'] })).toBe(
    'it lacks organizations: system:masters',
  );
  expect(subjectMismatch(leaf, nodeSubject('n2'))).toBe('its CN is "system:node:n1", not "system:node:n2"');
});

test('a certificate is valid through its last millisecond and expired after it', () => {
  expect(isExpired({ notAfterMs: 10 }, 10)).toBe(false);
  expect(isExpired({ notAfterMs: 10 }, 11)).toBe(true);
});

test('the delay after failed certificate requests doubles from 2 s to 32 s, with up to 10% jitter', () => {
  expect([1, 2, 3, 4, 5, 6, 99].map((failures) => retryDelayMs(failures, 0))).toEqual([
    2000, 4000, 8000, 16_000, 32_000, 32_000, 32_000,
  ]);
  expect(retryDelayMs(1, 1)).toBe(2200);
});

describe('the outcome of a certificate signing request', () => {
  const certificate = Buffer.from('PEM').toString('base64');
  const approved = { type: 'Approved', status: 'True' };
  test.each([
    [undefined, { state: 'pending' }],
    [{ conditions: [approved] }, { state: 'approved' }],
    [{ certificate }, { state: 'pending' }],
    [
      { conditions: [approved], certificate },
      { state: 'issued', certificate: 'PEM' },
    ],
    [
      { conditions: [approved, { type: 'Denied', status: 'True', reason: 'R', message: 'M' }], certificate },
      { state: 'denied', reason: 'R', message: 'M' },
    ],
    [{ conditions: [approved, { type: 'Failed', status: 'True' }] }, { state: 'failed', reason: '', message: '' }],
  ])('a certificate signing request with the status %j has the outcome %j', (status, outcome) => {
    expect(requestOutcome(status === undefined ? {} : { status })).toEqual(outcome);
  });
});

describe("a serving certificate's subject", () => {
  test('a serving certificate requests the names and addresses of the node, each once, sorted', () => {
    const addresses = [
      { type: 'InternalIP', address: '10.0.0.2' },
      { type: 'ExternalIP', address: '10.0.0.3' },
      { type: 'InternalIP', address: 'FD00:0::1' },
      { type: 'Hostname', address: 'n1' },
      { type: 'InternalDNS', address: 'b.example' },
      { type: 'Hostname', address: '' },
      { type: 'ExternalDNS', address: 'a.example' },
      { type: 'Hostname', address: '10.0.0.1' },
      { type: 'InternalIP', address: 'nonsense' },
      { type: 'InternalIP', address: '' },
      { type: 'Other', address: '10.9.9.9' },
    ];
    expect(servingSubject('n1', addresses)).toEqual({
      ...subject,
      dnsNames: ['a.example', 'b.example', 'n1'],
      ipAddresses: ['10.0.0.1', '10.0.0.2', '10.0.0.3', 'fd00::1'],
    });
  });

  test('the subject of a serving certificate is unknown without an IP address, unless a DNS name suffices', () => {
    const name = [{ type: 'Hostname', address: 'n1' }];
    expect(servingSubject('n1', name)).toBeUndefined();
    expect(servingSubject('n1', name, true)).toMatchObject({ dnsNames: ['n1'] });
    expect(servingSubject('n1', [], true)).toBeUndefined();
  });
});

describe('file names of a certificate store', () => {
  test('datedNames lists the certificate files of one prefix, oldest first', () => {
    const names = [
      'a-2026-01-02-00-00-00.pem',
      'a-current.pem',
      'a-2025-01-01-00-00-00.pem',
      'ab-2026-01-01-00-00-00.pem',
      'b-2026-01-01-00-00-00.pem',
      'a.crt',
    ];
    expect(datedNames('a', names)).toEqual(['a-2025-01-01-00-00-00.pem', 'a-2026-01-02-00-00-00.pem']);
  });

  test('datedName never repeats a file name, even within one second or after the clock was set back', () => {
    const first = datedName('a', START_MS, []);
    expect(first).toBe('a-2026-01-01-00-00-00.pem');
    expect(datedName('a', START_MS, [first])).toBe('a-2026-01-01-00-00-01.pem');
    expect(datedName('a', START_MS - DAY_MS, [first])).toBe('a-2026-01-01-00-00-01.pem');
    expect(datedName('a', START_MS + 5000, [first])).toBe('a-2026-01-01-00-00-05.pem');
    const known = ['a-2027-02-03-04-05-59.pem', 'a-2028-02-29-23-59-59.pem'];
    expect(datedName('a', START_MS, known)).toBe('a-2028-03-01-00-00-00.pem');
    expect(datedName('a', START_MS, known.slice(0, 1))).toBe('a-2027-02-03-04-06-00.pem');
  });
});

test.each([
  ['FD00:0:0:0:0:0:0:1', 'fd00::1'],
  ['10.0.0.1', '10.0.0.1'],
  ['not:an:address', 'not:an:address'],
  ['fe80::1%eth0', 'fe80::1%eth0'],
])('the IP address %s has the canonical form %s', (ip, text) => {
  expect(canonicalIp(ip)).toBe(text);
});
