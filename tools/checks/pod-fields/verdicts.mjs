// How the files beside this one say what becomes of a field of the pod API.

/** It does what the API says; `tests`: what shows it, each as [file, title of a test or name of its row]. */
export const works = (fields, ...tests) => ({ fields, state: 'works', tests });

/** It works but for what `note` names, which is refused, or has no effect. */
export const partly = (fields, note, ...tests) => ({ fields, state: 'partly', note, tests });

/** A pod that has it is rejected, or its container waits: with `error`, because of `why`. */
export const refused = (fields, error, why, ...tests) => ({ fields, state: 'refused', note: why, error, tests });

/** Nothing that a kubelet acts on: `who` does, as upstream. */
export const others = (fields, who) => ({ fields, state: 'others', note: who, tests: [] });
