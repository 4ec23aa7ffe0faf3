import type { Control, FaultPoint, FaultRule } from './control-file.ts';

/** A call at a point at which a fault may happen. */
export interface CallPoint {
  readonly rpc: string;
  /** ID of the volume; '' if the call concerns no volume. */
  readonly volumeId: string;
  readonly at: FaultPoint;
}

/** Returns the first rule that applies to a call; `undefined` if there is none. */
export function faultFor({ faults }: Control, call: CallPoint): FaultRule | undefined {
  return faults.find((rule) => applies(rule, call));
}

function applies({ rpc, volumeId, at, times }: FaultRule, call: CallPoint): boolean {
  return (
    (rpc === '*' || rpc === call.rpc) &&
    (volumeId === undefined || volumeId === call.volumeId) &&
    at === call.at &&
    times !== 0
  );
}

/**
 * Returns the control file's content after a rule was used once. A rule that is used up is removed. Exception: the rule
 * of a hanging call stays with `times` 0, because its removal releases the call.
 */
export function afterUse(control: Control, used: FaultRule): Control {
  return {
    ...control,
    faults: control.faults.flatMap((rule) => {
      if (rule !== used || rule.times === undefined) return [rule];
      return rule.times <= 1 && !rule.hang ? [] : [{ ...rule, times: rule.times - 1 }];
    }),
  };
}

/**
 * Returns whether a hanging call may continue, because its rule is no longer in the file. The rules are compared
 * without `times`.
 */
export function isReleased({ faults }: Control, { times: _, ...used }: FaultRule): boolean {
  const text = JSON.stringify(used);
  return !faults.some(({ times: _times, ...rule }) => JSON.stringify(rule) === text);
}
