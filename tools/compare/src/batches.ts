import type { Case } from './cases/index.ts';
import type { Found } from './side.ts';

/**
 * Cases that are run together, topic by topic: a node has room for so many pods only.
 * @param most a topic of more is a batch of its own
 */
export function inBatches(topics: readonly (readonly Case[])[], most: number): readonly (readonly Case[])[] {
  const batches: Case[][] = [];
  for (const topic of topics) {
    const last = batches.at(-1);
    if (last !== undefined && last.length + topic.length <= most) last.push(...topic);
    else if (topic.length > 0) batches.push([...topic]);
  }
  return batches;
}

/** What was found of a side batch by batch, as one: of each pod what was found while it was there, of the node what was found last. */
export function merged(batches: readonly Found[]): Found {
  const last = batches.at(-1);
  if (last === undefined) throw new RangeError('there is no batch');
  const events = batches.flatMap((batch) => {
    const names = new Set(batch.pods.map(({ metadata }) => metadata.name));
    const [node = ''] = batch === last ? Object.keys(batch.names) : [];
    return batch.events.filter(({ involvedObject: { name = '' } }) => names.has(name) || name === node);
  });
  const runtime = new Map(batches.flatMap((batch) => [...batch.runtime]));
  return { ...last, pods: batches.flatMap(({ pods }) => pods), events, runtime };
}
