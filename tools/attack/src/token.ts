/** The bearer token of a client who may use the victim. Attackers have it only if their attack says so. */
export const TOKEN = 'well-behaved';
