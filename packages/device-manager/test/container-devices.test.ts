import { silentLogger } from '@node-agent/telemetry';
import { describe, expect, it } from 'vitest';
import { joinAnswers } from '../src/container-devices.ts';
import { messages } from '../src/generated/codec.ts';

const { create } = messages.ContainerAllocateResponse;

describe('joinAnswers', () => {
  it('joins the Allocate responses of all plugins and keeps each device name and path once', () => {
    const errors: unknown[] = [];
    const logger = { ...silentLogger, error: (...said: readonly unknown[]) => errors.push(said) };
    const first = create({
      envs: { A: '1', B: '2' },
      mounts: [{ containerPath: '/m', hostPath: '/h', readOnly: true }],
      devices: [{ containerPath: '/dev/x', hostPath: '/dev/y', permissions: 'rw' }],
      annotations: { 'cdi.k8s.io/x': 'v', same: 's' },
      cdiDevices: [{ name: 'vendor.com/class=1' }],
    });
    const second = create({
      envs: { B: '2', C: '3', A: 'other' },
      mounts: [{ containerPath: '/m', hostPath: '/other' }],
      devices: [
        { containerPath: '/dev/x', hostPath: '/dev/y', permissions: 'r' },
        { containerPath: '/dev/x', hostPath: '/dev/z', permissions: 'r' },
      ],
      annotations: { 'cdi.k8s.io/x': 'w', same: 's' },
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
      annotations: { 'cdi.k8s.io/x': 'v', same: 's' },
      cdiDevices: ['vendor.com/class=1', 'vendor.com/class=2'],
    });
    const resource = 'example.com/b';
    expect(errors).toEqual([
      [{ resource, key: 'A', got: '1', expected: 'other' }, 'Environment variable has conflicting setting'],
      [{ resource, key: '/dev/x', got: '/dev/y', expected: '/dev/z' }, 'Container device has conflicting setting'],
      [{ resource, key: '/m', got: '/h', expected: '/other' }, 'Container mount has conflicting setting'],
      [{ resource, key: 'cdi.k8s.io/x', got: 'v', expected: 'w' }, 'Annotation has conflicting setting'],
    ]);
  });
});
