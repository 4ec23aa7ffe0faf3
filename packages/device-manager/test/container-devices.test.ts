import { silentLogger } from '@node-agent/telemetry';
import { describe, expect, it } from 'vitest';
import { joinAnswers } from '../src/container-devices.ts';
import { messages } from '../src/generated/codec.ts';

const { create } = messages.ContainerAllocateResponse;

describe('joinAnswers', () => {
  it('is what all plugins want, each name and path once', () => {
    const errors: unknown[] = [];
    const logger = { ...silentLogger, error: (fields: unknown) => errors.push(fields) };
    const first = create({
      envs: { A: '1', B: '2' },
      mounts: [{ containerPath: '/m', hostPath: '/h', readOnly: true }],
      devices: [{ containerPath: '/dev/x', hostPath: '/dev/y', permissions: 'rw' }],
      annotations: { 'cdi.k8s.io/x': 'v' },
      cdiDevices: [{ name: 'vendor.com/class=1' }],
    });
    const second = create({
      envs: { B: '2', C: '3', A: 'other' },
      mounts: [{ containerPath: '/m', hostPath: '/other' }],
      devices: [{ containerPath: '/dev/x', hostPath: '/dev/y', permissions: 'r' }],
      cdiDevices: [{ name: 'vendor.com/class=1' }, { name: 'vendor.com/class=2' }],
    });
    expect(
      joinAnswers(
        [
          ['example.com/a', first],
          ['example.com/b', second],
        ],
        logger,
      ),
    ).toEqual({
      envs: [
        { name: 'A', value: '1' },
        { name: 'B', value: '2' },
        { name: 'C', value: '3' },
      ],
      mounts: [
        {
          ...{ containerPath: '/m', hostPath: '/h', readOnly: true },
          ...{ recursiveReadOnly: false, selinuxRelabel: false, propagation: 'None' },
        },
      ],
      devices: [{ containerPath: '/dev/x', hostPath: '/dev/y', permissions: 'rw' }],
      annotations: { 'cdi.k8s.io/x': 'v' },
      cdiDevices: ['vendor.com/class=1', 'vendor.com/class=2'],
    });
    expect(errors).toEqual([
      { resource: 'example.com/b', key: 'A', got: '1', expected: 'other' },
      { resource: 'example.com/b', key: '/m', got: '/h', expected: '/other' },
    ]);
  });
});
