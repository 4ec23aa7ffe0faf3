import type { Case } from './cases/index.ts';
import type { Found } from './side.ts';

/**
 * Groups cases into batches that run together, because a node has room for a limited number of pods. The cases of one
 * topic are never split.
 * @param most maximum number of cases per batch; a topic with more cases is a batch of its own
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

/**
 * Merges the findings of all batches of a side. The result has the pods of every batch with their events, runtime
 * requests and storage, and the node of the last batch.
 */
export function merged(batches: readonly Found[]): Found {
  const last = batches.at(-1);
  if (last === undefined) throw new RangeError('merge batches: no batch');
  const events = batches.flatMap((batch) => {
    const names = new Set(batch.pods.map(({ metadata }) => metadata.name));
    const [node = ''] = batch === last ? Object.keys(batch.names) : [];
    return batch.events.filter(({ involvedObject: { name = '' } }) => names.has(name) || name === node);
  });
  const runtime = new Map(batches.flatMap((batch) => [...batch.runtime]));
  const storage = new Map(batches.flatMap((batch) => [...batch.storage]));
  return { ...last, pods: batches.flatMap(({ pods }) => pods), events, runtime, storage };
}
