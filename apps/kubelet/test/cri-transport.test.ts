import { expect, test } from 'vitest';
import { criTransport } from '../src/node/cri-transport.ts';

test.each([
  [{}, 'lean'],
  [{ NODE_AGENT_CRI_TRANSPORT: '' }, 'lean'],
  [{ NODE_AGENT_CRI_TRANSPORT: 'lean' }, 'lean'],
  [{ NODE_AGENT_CRI_TRANSPORT: 'grpc-js' }, 'grpc-js'],
])('the environment %j chooses the transport %s for the container runtime', (environment, transport) => {
  expect(criTransport(environment)).toBe(transport);
});

test('an unknown transport for the container runtime is rejected with an error that names the environment variable', () => {
  const message = 'the environment variable NODE_AGENT_CRI_TRANSPORT must be lean or grpc-js, not "http3"';
  expect(() => criTransport({ NODE_AGENT_CRI_TRANSPORT: 'http3' })).toThrow(message);
});
