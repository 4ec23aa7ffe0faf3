/** Mount below a directory, with its relative path. */
export interface FoundMount {
  readonly point: string;
  /** Source, root in its file system, type, options and propagation, in one line. */
  readonly text: string;
}

/**
 * Returns the mounts below a directory, in mount order, without the device numbers and the IDs of mounts and peer groups.
 * @param table content of `/proc/self/mountinfo`
 */
export function mountsOf(table: string, directory: string): readonly FoundMount[] {
  return table.split('\n').flatMap((line) => {
    const [front = '', back = ''] = line.split(' - ');
    const [, , , root = '', point = '', options = '', ...optional] = front.split(' ');
    const [type = '', source = '', superOptions = ''] = back.split(' ');
    if (!point.startsWith(`${directory}/`)) return [];
    const propagation = optional.map((field) => field.replace(/:\d+$/, '')).join(',') || 'private';
    return [{ point, text: [source, root, type, options, superOptions, propagation].join(' ') }];
  });
}
