import { Event, StateChangeEvent, UpdateContainerRequest } from '../../gen/nri/v1alpha1/nri';

export { Event };

/** Bytes of a request about a pod or container, as a runtime encodes it. */
export function encodeEventRequest(request: Parameters<typeof UpdateContainerRequest.create>[0]): Uint8Array {
  return UpdateContainerRequest.encode(UpdateContainerRequest.create(request)).finish();
}

export function encodeStateChange(request: Parameters<typeof StateChangeEvent.create>[0]): Uint8Array {
  return StateChangeEvent.encode(StateChangeEvent.create(request)).finish();
}
