// Constructors of verdicts: whether this kubelet supports a field of the pod API.

/**
 * Verdict that the fields do what the API documents. Each of `tests` is [file, title of a test or label of its row].
 */
export const works = (fields, ...tests) => ({ fields, state: 'works', tests });

/** Verdict that the fields work, except for the part that `note` names, which is refused or has no effect. */
export const partly = (fields, note, ...tests) => ({ fields, state: 'partly', note, tests });

/**
 * Verdict that a pod with one of the fields is rejected, or its container waits, with the message `error`. `why` is the
 * reason.
 */
export const refused = (fields, error, why, ...tests) => ({ fields, state: 'refused', note: why, error, tests });

/** Verdict that no kubelet, including upstream's, acts on the fields. `who` names the component that does. */
export const others = (fields, who) => ({ fields, state: 'others', note: who, tests: [] });
