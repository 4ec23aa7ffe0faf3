import { ChangeFeed } from '@node-agent/kube-client';
import type { Node } from '@node-agent/node-status';
import { expect, test } from 'vitest';
import { followNode } from '../src/node-changes.ts';

test('K3: reports the node immediately if its Ready condition is Unknown, and its addresses on each change', async () => {
  const feed = new ChangeFeed<Node>();
  const heard: unknown[] = [];
  let changes = 0;
  const controller = new AbortController();
  const listener = {
    onAddresses: (addresses: readonly object[]) => void heard.push(addresses),
    onUnknown: () => void heard.push('unknown'),
    onNode: () => void changes++,
  };
  const ended = followNode({ changes: () => feed }, listener, controller.signal);
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const push = async (status: NonNullable<Node['status']>): Promise<void> => {
    feed.push({ type: 'changed', key: 'n1', object: { metadata: { name: 'n1' }, status }, previous: undefined });
    await settle();
  };
  const addresses = [{ type: 'InternalIP', address: '10.0.0.1' }];
  await push({ addresses, conditions: [{ type: 'Ready', status: 'True' }] });
  expect(heard.splice(0)).toEqual([addresses]);
  await push({ addresses, conditions: [{ type: 'Ready', status: 'Unknown' }] });
  expect(heard.splice(0)).toEqual([addresses, 'unknown']);
  await push({ conditions: [{ type: 'DiskPressure', status: 'Unknown' }] });
  expect(heard.splice(0)).toEqual([[]]);
  feed.push({ type: 'synced' });
  feed.push({ type: 'deleted', key: 'n1', object: { metadata: { name: 'n1' } } });
  await settle();
  expect([heard, changes]).toEqual([[], 3]);
  controller.abort(new Error('the test has ended'));
  await ended;
});
