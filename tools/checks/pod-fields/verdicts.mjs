// Constructors of verdicts: whether this kubelet supports a field of the pod API.

/** The fields do what the API documents. `tests` show it, each as [file, title of a test or name of its row]. */
export const works = (fields, ...tests) => ({ fields, state: 'works', tests });

/** The fields work, except for what `note` names, which is refused or has no effect. */
export const partly = (fields, note, ...tests) => ({ fields, state: 'partly', note, tests });

/** A pod with one of the fields is rejected, or its container waits, with the message `error`. `why` is the reason. */
export const refused = (fields, error, why, ...tests) => ({ fields, state: 'refused', note: why, error, tests });

/** No kubelet acts on the fields, upstream's neither. `who` names the component that does. */
export const others = (fields, who) => ({ fields, state: 'others', note: who, tests: [] });
