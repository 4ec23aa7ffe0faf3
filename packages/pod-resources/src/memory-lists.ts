import type { Init } from '@node-agent/grpc';
import type { ContainerMemory } from './generated/v1/types.ts';
import type { HeldMemory } from './ports.ts';

/** Converts memory to API entries (`containerMemoryFromBlock`, `pkg/kubelet/cm/container_manager_linux.go`). */
export function containerMemory(held: readonly HeldMemory[]): readonly Init<ContainerMemory>[] {
  return held.map(({ nodes, resource, bytes }) => ({
    memoryType: resource,
    size: bytes,
    topology: { nodes: nodes.map((ID) => ({ ID })) },
  }));
}
