import { expect, test } from 'vitest';
import type { ResourceRequirements } from '../src/api.ts';
import { qosClass } from '../src/qos-class.ts';

const both = { cpu: '1', memory: '1Gi' };
const guaranteed: ResourceRequirements = { requests: both, limits: both };

test.each<[string, readonly (ResourceRequirements | undefined)[], ResourceRequirements | undefined, string]>([
  ['no requests and limits', [undefined], undefined, 'BestEffort'],
  ['requests of zero', [{ requests: { cpu: '0' } }], undefined, 'BestEffort'],
  ['only other resources', [{ limits: { 'example.com/gpu': '1' } }], undefined, 'BestEffort'],
  ['a request', [{ requests: { cpu: '10m' } }], undefined, 'Burstable'],
  ['a limit of one resource', [{ limits: { cpu: '1' }, requests: { cpu: '1' } }], undefined, 'Burstable'],
  ['requests equal to limits', [guaranteed], undefined, 'Guaranteed'],
  [
    'requests equal to limits in another notation',
    [{ requests: { cpu: '1000m', memory: '1024Mi' }, limits: both }],
    undefined,
    'Guaranteed',
  ],
  ['a request below its limit', [{ requests: { cpu: '500m', memory: '1Gi' }, limits: both }], undefined, 'Burstable'],
  ['only limits', [{ limits: both }], undefined, 'Burstable'],
  ['one of two containers without resources', [guaranteed, undefined], undefined, 'Burstable'],
  ['pod-level resources, which replace those of containers', [undefined], guaranteed, 'Guaranteed'],
  ['pod-level requests', [guaranteed], { requests: { cpu: '1' } }, 'Burstable'],
])('a pod with %s has the QoS class $3', (_name, containers, podLevel, expected) => {
  const spec = {
    containers: containers.map((resources, index) => ({ name: `c${index}`, ...(resources && { resources }) })),
    ...(podLevel && { resources: podLevel }),
  };
  expect(qosClass({ spec })).toBe(expected);
});

test('an init container counts for the QoS class like a main container', () => {
  const spec = { containers: [{ name: 'main', resources: guaranteed }], initContainers: [{ name: 'init' }] };
  expect(qosClass({ spec })).toBe('Burstable');
});
