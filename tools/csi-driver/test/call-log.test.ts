import { expect, test } from 'vitest';
import { CallLog, loggedRequest } from '../src/call-log.ts';

const call = { startedAtMs: 0, durationMs: 1 };

function printed(line: string | undefined): unknown {
  const [prefix, json = ''] = line?.split(/(?<=^gRPCCall:) /) ?? [];
  expect(prefix).toBe('gRPCCall:');
  return JSON.parse(json);
}

test("a call is printed as by upstream's host path driver, with the field names of the .proto file and without secrets", async () => {
  const lines: string[] = [];
  const log = new CallLog('', (line) => lines.push(line));
  const request = loggedRequest({
    volumeId: 'v1',
    volumeContext: { 'csi.storage.k8s.io/pod.name': 'web', 'csi.storage.k8s.io/serviceAccount.tokens': 'abc' },
    secrets: { password: 'xyz' },
  });
  await log.add({ ...call, rpc: 'NodePublishVolume', request, code: 'OK' });
  expect(printed(lines[0])).toEqual({
    Method: 'NodePublishVolume',
    Request: {
      volume_id: 'v1',
      volume_context: {
        'csi.storage.k8s.io/pod.name': 'web',
        'csi.storage.k8s.io/serviceAccount.tokens': '(tokens)',
      },
      secrets: { password: '(secret)' },
    },
    Response: null,
    Error: '',
    FullError: null,
  });
});

test('a failed call is printed with the number of its gRPC code', async () => {
  const lines: string[] = [];
  const log = new CallLog('', (line) => lines.push(line));
  await log.add({ ...call, rpc: 'NodeStageVolume', request: {}, code: 'NOT_FOUND', details: 'no such volume' });
  expect(printed(lines[0])).toMatchObject({
    Error: 'rpc error: code = NOT_FOUND desc = no such volume',
    FullError: { code: 5, message: 'no such volume' },
  });
});
