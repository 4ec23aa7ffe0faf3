/** Bearer token of an authorized client. An attack uses it only if its description mentions an authorized client. */
export const TOKEN = 'well-behaved';
