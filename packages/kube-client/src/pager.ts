import { KubeError } from './errors.ts';
import type { ListOptions } from './query.ts';
import type { ObjectList } from './rest-client.ts';

/** The number of objects per page (client-go's `pager`). */
const PAGE_SIZE = 500;

/** The objects of a whole collection, and whether the server returned them in pages. */
export interface WholeList<T> extends Omit<ObjectList<T>, 'continue'> {
  readonly paginated: boolean;
}

/**
 * Lists a whole collection, in pages if `paged` is set and the server supports it. If a page token expires before the
 * last page, the collection is listed again in one response. @throws KubeError
 */
export async function listAll<T>(
  list: (options: ListOptions) => Promise<ObjectList<T>>,
  options: ListOptions,
  paged: boolean,
): Promise<WholeList<T>> {
  const first = await list(paged ? { ...options, limit: PAGE_SIZE } : options);
  if (first.continue === undefined) {
    return { items: first.items, resourceVersion: first.resourceVersion, paginated: false };
  }
  const items = [...first.items];
  const { resourceVersion: _version, resourceVersionMatch: _match, ...rest } = options;
  let page = first;
  while (page.continue !== undefined) {
    try {
      page = await list({ ...rest, limit: PAGE_SIZE, continue: page.continue });
    } catch (error) {
      if (KubeError.from(error).code !== 'Expired') throw error;
      const whole = await list(options);
      return { items: whole.items, resourceVersion: whole.resourceVersion, paginated: true };
    }
    items.push(...page.items);
  }
  return { items, resourceVersion: page.resourceVersion, paginated: true };
}
