import { type FileStat, type ForeignFiles, isMissing } from '@node-agent/host';
import { identityOf } from './find-sockets.ts';

interface Link {
  /** Which link of this path. */
  readonly identity: string;
  /** The socket that it leads to, where it leads to one. */
  socket: string | undefined;
  isAsked: boolean;
}

/**
 * Which links lead to sockets: upstream's `IsUnixDomainSocket` follows them. Where one leads may be on a file system that does not answer:
 * nobody waits for it, and each is asked for by itself (W6).
 */
export class LinkTargets {
  readonly #files: Pick<ForeignFiles, 'stat'>;
  readonly #onNews: () => void;
  readonly #limit: number;
  readonly #links = new Map<string, Link>();

  /** @param onNews {@link sockets} gives something else now @param limit how many links are looked at */
  constructor(files: Pick<ForeignFiles, 'stat'>, onNews: () => void, limit: number) {
    this.#files = files;
    this.#onNews = onNews;
    this.#limit = limit;
  }

  /** The sockets that these links lead to, as far as it is known; asks anew. @param links which they are, by path */
  sockets(links: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
    for (const path of this.#links.keys()) if (!links.has(path)) this.#links.delete(path);
    const sockets = new Map<string, string>();
    for (const [path, identity] of links) {
      let link = this.#links.get(path);
      if (link?.identity !== identity) {
        if (link === undefined && this.#links.size >= this.#limit) continue;
        link = { identity, socket: undefined, isAsked: false };
        this.#links.set(path, link);
      }
      if (link.socket !== undefined) sockets.set(path, link.socket);
      if (!link.isAsked) void this.#ask(path, link);
    }
    return sockets;
  }

  async #ask(path: string, link: Link): Promise<void> {
    link.isAsked = true;
    const before = link.socket;
    // Where there is no answer for once, the plugin that was there is taken to be there.
    link.socket = await this.#files.stat(path).then(socketIn, (err: unknown) => (isMissing(err) ? undefined : before));
    link.isAsked = false;
    if (link.socket !== before && this.#links.get(path) === link) this.#onNews();
  }
}

function socketIn(stat: FileStat): string | undefined {
  return stat.kind === 'socket' ? identityOf(stat) : undefined;
}
