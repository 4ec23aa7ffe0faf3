import { describe, expect, test } from 'vitest';
import { type FaultRule, NO_CONTROL, parseControl } from '../src/faults/control-file.ts';
import { afterUse, faultFor, isReleased } from '../src/faults/fault-rules.ts';

const call = { rpc: 'NodeStageVolume', volumeId: 'v1', at: 'before' } as const;
const rule = (more: Partial<FaultRule> = {}): FaultRule => ({ rpc: 'NodeStageVolume', at: 'before', ...more });
const controlOf = (...faults: readonly FaultRule[]) => ({ ...NO_CONTROL, faults });

describe('parseControl', () => {
  test('parseControl adds the defaults', () => {
    const text = '{"faults":[{"rpc":"*","delayMs":5}],"maxVolumesPerNode":3,"unhealthy":{"v1":"disk failing"}}';
    expect(parseControl(text)).toEqual({
      faults: [{ rpc: '*', at: 'before', delayMs: 5 }],
      maxVolumesPerNode: 3,
      unhealthy: { v1: 'disk failing' },
    });
    expect(parseControl('{}')).toEqual(NO_CONTROL);
  });

  test.each([
    ['[]', 'control file must be an object'],
    ['{"fault":[]}', 'control file has unknown fields: fault'],
    ['{"faults":{}}', 'faults must be a list'],
    ['{"faults":[{}]}', 'faults[0].rpc must be a non-empty string'],
    ['{"faults":[{"rpc":"*","at":"end"}]}', 'faults[0].at must be before, middle or after'],
    ['{"faults":[{"rpc":"*","code":"BAD"}]}', 'faults[0].code must be a gRPC code such as UNAVAILABLE'],
    ['{"faults":[{"rpc":"*","times":-1}]}', 'faults[0].times must be a non-negative integer'],
    ['{"faults":[{"rpc":"*","hang":1}]}', 'faults[0].hang must be true or false'],
    ['{"faults":[{"rpc":"*","foo":1}]}', 'faults[0] has unknown fields: foo'],
    ['{"unhealthy":{"v":1}}', 'unhealthy.v must be a non-empty string'],
  ])('parseControl rejects %s', (text, message) => {
    expect(() => parseControl(text)).toThrow(message);
  });
});

describe('faultFor', () => {
  test.each<readonly [Partial<FaultRule>, boolean]>([
    [{}, true],
    [{ rpc: '*' }, true],
    [{ rpc: 'NodePublishVolume' }, false],
    [{ volumeId: 'v1' }, true],
    [{ volumeId: 'v2' }, false],
    [{ at: 'middle' }, false],
    [{ times: 1 }, true],
    [{ times: 0 }, false],
  ])('faultFor applies the rule %j: %s', (more, applies) => {
    expect(faultFor(controlOf(rule(more)), call) !== undefined).toBe(applies);
  });

  test('faultFor returns the first of two matching rules', () => {
    const [first, second] = [rule({ message: 'first' }), rule({ message: 'second' })];
    expect(faultFor(controlOf(first, second), call)).toBe(first);
  });
});

describe('afterUse', () => {
  test.each<readonly [string, Partial<FaultRule>, readonly Partial<FaultRule>[]]>([
    ['keeps a rule without a limit', {}, [{}]],
    ['counts a use', { times: 2 }, [{ times: 1 }]],
    ['removes a rule that is used up', { times: 1 }, []],
    ['keeps the rule of a hanging call', { times: 1, hang: true }, [{ times: 0, hang: true }]],
  ])('afterUse %s', (_, used, left) => {
    const [one, other] = [rule(used), rule({ rpc: 'Probe' })];
    expect(afterUse(controlOf(one, other), one).faults).toEqual([...left.map((more) => rule(more)), other]);
  });
});

test("isReleased: a hanging call is released when its rule is removed, even if the rule's count is used up", () => {
  const hanging = rule({ hang: true, times: 1 });
  expect(isReleased(afterUse(controlOf(hanging), hanging), hanging)).toBe(false);
  expect(isReleased(controlOf(rule({ hang: true, volumeId: 'v2' })), hanging)).toBe(true);
  expect(isReleased(NO_CONTROL, hanging)).toBe(true);
});
