import { type KubeObject, Reflector, type Resource, type RestClient } from '@node-agent/kube-client';

/** A node or a pod, as far as the bench reads it. */
interface WithConditions extends KubeObject {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

/** Counts the objects of a collection that are Ready, and how often one stopped being Ready. */
export class ReadyWatch implements Disposable {
  readonly #reflector: Reflector<WithConditions>;
  readonly #controller = new AbortController();
  #lost = 0;

  constructor(client: RestClient, resource: Resource<WithConditions>) {
    this.#reflector = new Reflector<WithConditions>(
      { client },
      {
        resource,
        transform: (object, previous) => {
          const kept = onlyReadiness(object);
          const wasReady = previous !== undefined && isReady(previous);
          if (previous?.metadata.uid === object.metadata.uid && wasReady && !isReady(kept)) this.#lost++;
          return kept;
        },
      },
    );
    void this.#reflector.start(this.#controller.signal);
  }

  /** Number of objects that are Ready. */
  get ready(): number {
    let count = 0;
    for (const object of this.#reflector.objects.values()) if (isReady(object)) count++;
    return count;
  }

  /** Number of times that a Ready object became not Ready. */
  get lost(): number {
    return this.#lost;
  }

  [Symbol.dispose](): void {
    this.#controller.abort();
  }
}

function onlyReadiness({ metadata, status }: WithConditions): WithConditions {
  const { name, namespace, uid, resourceVersion } = metadata;
  const conditions = status?.conditions?.filter(({ type }) => type === 'Ready') ?? [];
  return { metadata: { name, namespace, uid, resourceVersion } as KubeObject['metadata'], status: { conditions } };
}

function isReady({ status }: WithConditions): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false;
}
