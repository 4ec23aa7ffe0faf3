import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkPod, formatFieldError } from '../src/index.ts';

const messages = (value: unknown): string[] => checkPod(value).map(formatFieldError);
const spec = (fields: Readonly<Record<string, unknown>>): unknown => ({ apiVersion: 'v1', kind: 'Pod', spec: fields });

describe('checkPod', () => {
  it('checkPod accepts fields of every kind', () => {
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: 'a',
        labels: { a: 'b' },
        creationTimestamp: null,
        deletionTimestamp: '2026-01-31T12:00:00.5+01:00',
      },
      spec: {
        terminationGracePeriodSeconds: 2 ** 40,
        hostNetwork: true,
        securityContext: { supplementalGroups: [2 ** 31] },
        volumes: [
          { name: 'v', emptyDir: null },
          { name: 'w', emptyDir: { sizeLimit: 1.5 } },
        ],
        containers: [
          {
            name: 'c',
            livenessProbe: { httpGet: { port: 'http' }, timeoutSeconds: 1 },
            readinessProbe: { httpGet: { port: 80 } },
            resources: { limits: { cpu: 1, memory: '1Gi' } },
          },
        ],
      },
      status: { nodeAllocatableResourceClaimStatuses: [{ resources: { cpu: 1 } }] },
    };
    expect(messages(pod)).toEqual([]);
  });

  it.each<[what: string, value: unknown, problems: readonly string[]]>([
    ['a text instead of an object', 'x', ['Invalid value: "x": must be an object']],
    ['null', null, ['Invalid value: null: must be an object']],
    ['a list', [], ['Invalid value: []: must be an object']],
    ['an unknown field', { spce: {} }, ['spce: Unknown field: did you mean "spec"?']],
    [
      'a field name in another case',
      spec({ hostnetwork: true }),
      ['spec.hostnetwork: Unknown field: did you mean "hostNetwork"?'],
    ],
    ['an unknown field that resembles no known one', spec({ replicas: 1 }), ['spec.replicas: Unknown field']],
    ['a short field name that resembles many known ones', spec({ xx: 1 }), ['spec.xx: Unknown field']],
    [
      'deep in a list',
      spec({ containers: [{}, { env: [{ name: 'A', valeu: 'x' }] }] }),
      ['spec.containers[1].env[0].valeu: Unknown field: did you mean "value"?'],
    ],
    ['a number for a string', spec({ nodeName: 1 }), ['spec.nodeName: Invalid value: 1: must be a string']],
    [
      'a string for a number',
      spec({ priority: '1' }),
      ['spec.priority: Invalid value: "1": must be an integer of 32 bits'],
    ],
    ['a fraction', spec({ priority: 1.5 }), ['spec.priority: Invalid value: 1.5: must be an integer of 32 bits']],
    [
      'too large a number',
      spec({ priority: 2 ** 31 }),
      ['spec.priority: Invalid value: 2147483648: must be an integer of 32 bits'],
    ],
    [
      'too large a long number',
      spec({ activeDeadlineSeconds: 1e30 }),
      ['spec.activeDeadlineSeconds: Invalid value: 1e+30: must be an integer'],
    ],
    ['a string for a boolean', spec({ hostPID: 'yes' }), ['spec.hostPID: Invalid value: "yes": must be true or false']],
    ['an object for a list', spec({ containers: {} }), ['spec.containers: Invalid value: {}: must be a list']],
    ['a list for a map', spec({ nodeSelector: [] }), ['spec.nodeSelector: Invalid value: []: must be a map']],
    ['a null in a list', spec({ containers: [null] }), ['spec.containers[0]: Invalid value: null: must be an object']],
    [
      'a number in a map of strings',
      { metadata: { labels: { a: 1 } } },
      ['metadata.labels[a]: Invalid value: 1: must be a string'],
    ],
    [
      'a quantity that is none',
      spec({ overhead: { cpu: true } }),
      ['spec.overhead[cpu]: Invalid value: true: must be a quantity'],
    ],
    [
      'a time that is none',
      { metadata: { creationTimestamp: 'yesterday' } },
      ['metadata.creationTimestamp: Invalid value: "yesterday": must be a time, as 2026-01-31T12:00:00Z'],
    ],
    [
      'a port that is neither',
      spec({ containers: [{ livenessProbe: { tcpSocket: { port: 1.5 } } }] }),
      ['spec.containers[0].livenessProbe.tcpSocket.port: Invalid value: 1.5: must be an integer or a string'],
    ],
    ['the least number', spec({ priority: -(2 ** 31) }), []],
    ['the greatest number', spec({ priority: 2 ** 31 - 1 }), []],
    [
      'too small a number',
      spec({ priority: -(2 ** 31) - 1 }),
      ['spec.priority: Invalid value: -2147483649: must be an integer of 32 bits'],
    ],
    [
      'a number for a time',
      { metadata: { creationTimestamp: 1 } },
      ['metadata.creationTimestamp: Invalid value: 1: must be a time, as 2026-01-31T12:00:00Z'],
    ],
    [
      'a quantity without an end',
      spec({ overhead: { cpu: Number.POSITIVE_INFINITY } }),
      ['spec.overhead[cpu]: Invalid value: null: must be a quantity'],
    ],
    [
      'a port that is true',
      spec({ containers: [{ livenessProbe: { tcpSocket: { port: true } } }] }),
      ['spec.containers[0].livenessProbe.tcpSocket.port: Invalid value: true: must be an integer or a string'],
    ],
    ['a number for a boolean', spec({ hostPID: 1 }), ['spec.hostPID: Invalid value: 1: must be true or false']],
    ['a map for text', spec({ nodeName: {} }), ['spec.nodeName: Invalid value: {}: must be a string']],
    ['null for a map', spec({ nodeSelector: null }), []],
    ['nothing for a map', spec({ nodeSelector: undefined }), []],
    ['text for a map', spec({ nodeSelector: 'x' }), ['spec.nodeSelector: Invalid value: "x": must be a map']],
    [
      'a null in a map',
      spec({ nodeSelector: { a: null } }),
      ['spec.nodeSelector[a]: Invalid value: null: must be a string'],
    ],
    ['a name of every object', { toString: 1, __proto__: 1 }, ['toString: Unknown field']],
  ])('checkPod reports the type error or unknown field: %s', (_, value, problems) => {
    expect(messages(value)).toEqual(problems);
  });

  it('checkPod reports at most a hundred errors, and shortens a huge value', () => {
    const many = spec(Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`unknown${index}`, 1])));
    expect(checkPod(many)).toHaveLength(100);
    expect(checkPod(spec({ tolerations: Array.from({ length: 1_000 }, () => 1) }))).toHaveLength(100);
    const both = [...Array.from({ length: 99 }, () => 1), { key: 1, value: 1 }];
    expect(checkPod(spec({ tolerations: both })).at(-1)?.field).toBe('spec.tolerations[99].key');
    expect(messages(spec({ hostPID: 'x'.repeat(100_000) }))[0]?.length).toBeLessThan(300);
  });

  it('W3: for any input, checkPod returns errors at paths that exist, and never throws', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (containers, metadata) => {
        for (const error of checkPod({ metadata, spec: { containers } })) {
          expect(error.field).toMatch(/^(metadata|spec)/);
          expect(error.message).not.toBe('');
        }
      }),
    );
  });
});
