// Runs steps in lanes: the lanes run at the same time, and the steps of a lane run one after another.

/**
 * Runs all steps and resolves when the last one has ended. A step begins when the steps before it in its lane and the
 * steps that its `after` and `needs` name have ended. Names of steps that are in no lane are ignored.
 * @param run runs one step; resolves when the step has ended, whether it succeeded or not
 */
export async function runLanes(lanes, run) {
  const ends = new Map();
  for (const { name } of lanes.flatMap(({ steps }) => steps)) ends.set(name, Promise.withResolvers());
  const runLane = async (lane) => {
    for (const step of lane.steps) {
      await Promise.all([...(step.after ?? []), ...(step.needs ?? [])].map((name) => ends.get(name)?.promise));
      await run(step, lane);
      ends.get(step.name).resolve();
    }
  };
  await Promise.all(lanes.map(runLane));
}

/**
 * Returns the steps that the arguments select, and the arguments that select nothing. `tests` selects all steps with
 * tests, because their results are counted together. A selected step selects the steps that its `needs` names. No
 * arguments select all steps.
 */
export function selectSteps(lanes, wanted) {
  const nameOf = (step) => (step.tests ? 'tests' : step.name);
  const all = lanes.flatMap(({ steps }) => steps);
  const known = [...new Set(all.map(nameOf))];
  const unknown = wanted.filter((name) => !known.includes(name));
  const isWanted = (step) => wanted.length === 0 || wanted.includes(nameOf(step));
  const needed = new Set(all.filter(isWanted).flatMap(({ needs = [] }) => needs));
  const isChosen = (step) => isWanted(step) || needed.has(step.name);
  return { known, unknown, chosen: lanes.map((lane) => ({ ...lane, steps: lane.steps.filter(isChosen) })) };
}
