import type { Pod } from './api.ts';
import { duplicate, type FieldError, invalid, required } from './field-error.ts';
import { dns1123LabelProblem, dns1123SubdomainProblem } from './names.ts';

/**
 * What the API server would refuse in a pod (`pkg/apis/core/validation`), as far as a manifest can break it; nothing
 * where the pod is valid. The pod has its defaults already: see {@link defaultPod}.
 */
export function validatePod(pod: Pod): readonly FieldError[] {
  const errors: FieldError[] = [];
  if (!pod.metadata.name) errors.push(required('metadata.name', 'name or generateName is required'));
  else
    for (const problem of dns1123SubdomainProblem(pod.metadata.name))
      errors.push(invalid('metadata.name', pod.metadata.name, problem));
  if ((pod.spec.containers ?? []).length === 0) errors.push(required('spec.containers'));
  const names = new Set<string>();
  for (const [index, container] of (pod.spec.containers ?? []).entries()) {
    const at = `spec.containers[${index}]`;
    if (!container.name) errors.push(required(`${at}.name`));
    else
      for (const problem of dns1123LabelProblem(container.name))
        errors.push(invalid(`${at}.name`, container.name, problem));
    if (names.has(container.name)) errors.push(duplicate(`${at}.name`, container.name));
    names.add(container.name);
    if (!container.image) errors.push(required(`${at}.image`));
  }
  return errors;
}
