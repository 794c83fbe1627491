import type { Json } from './api-server';

/**
 * `managedFields` of so many levels, as whoever may write a pod may write them; the API server stores some thousand.
 */
export function deepFields(levels: number): Json[] {
  let fieldsV1: Json = {};
  for (let level = 1; level < levels; level++) fieldsV1 = { [`f:${level}`]: fieldsV1 };
  return [{ manager: 'm', operation: 'Update', fieldsType: 'FieldsV1', fieldsV1 }];
}

/** `managedFields` with more values than are read of an object. */
export function endlessFields(): Json[] {
  return [{ manager: 'm', fieldsV1: { 'f:a': new Array<number>(4_000_000).fill(0) } }];
}
