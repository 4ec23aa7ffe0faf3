// From packages/simulation/README.md, which explains the program.
import { generateScenario, shrink, simulate } from '@node-agent/simulation';

const scenario = generateScenario(42, { events: 6 });
const result = await simulate(scenario);
console.log(`${scenario.actions.length} actions, ${Math.round(result.elapsedMs / 1000)} s of virtual time`);
console.log('faults:', Object.fromEntries(result.faults));
if (result.violation !== undefined) {
  const { scenario: shortest, violation } = await shrink(result);
  console.log(violation.invariant, violation.message, shortest.actions);
}
