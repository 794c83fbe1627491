import type { ProtobufReader } from '../../wire/protobuf';
import { readFields } from './read-fields';

/** State of a container in an answer of the runtime. */
export type SeenState = 'running' | 'exited' | 'removed' | 'other';

/** Containers of a list (`ListContainers` and its stream), by id. */
export function readListedStates(message: Uint8Array): Map<string, SeenState> {
  const states = new Map<string, SeenState>();
  readFields(message, { 1: (reader) => readState(reader, 6, states) });
  return states;
}

/** The one container of a `ContainerStatus` answer. */
export function readStatusState(message: Uint8Array): Map<string, SeenState> {
  const states = new Map<string, SeenState>();
  readFields(message, { 1: (reader) => readState(reader, 3, states) });
  return states;
}

/** The one container, or sandbox, of a message of `GetContainerEvents`. */
export function readEventState(message: Uint8Array): Map<string, SeenState> {
  let id = '';
  let type = 0;
  readFields(message, { 1: (reader) => (id = reader.readString()), 2: (reader) => (type = reader.readInt32()) });
  return new Map([[id, (['other', 'running', 'exited', 'removed'] as const)[type] ?? 'other']]);
}

/** A request with an empty filter, which is how the kubelet asks for all. */
const EMPTY_FILTER = Uint8Array.of(0x0a, 0);

/**
 * True when a `ListContainers` request asks for all containers. One with any other field, known here or not, may ask
 * for fewer.
 */
export function asksForAll(message: Uint8Array): boolean {
  return message.length === 0 || Buffer.compare(message, EMPTY_FILTER) === 0;
}

/** Reads the id in field 1 and the state in `stateField`. */
function readState(source: ProtobufReader, stateField: number, states: Map<string, SeenState>): void {
  let id = '';
  let state = 0;
  readFields(source, {
    1: (reader) => (id = reader.readString()),
    [stateField]: (reader) => (state = reader.readInt32()),
  });
  states.set(id, (['other', 'running', 'exited'] as const)[state] ?? 'other');
}
