import type * as grpc from '@grpc/grpc-js';

interface Codec {
  encode(message: unknown): { finish(): Uint8Array };
  decode(bytes: Uint8Array): unknown;
}

/** A service that ts-proto generated with `generic-definitions`. */
interface GenericDefinition {
  readonly fullName: string;
  readonly methods: Readonly<
    Record<
      string,
      {
        readonly name: string;
        readonly requestType: Codec;
        readonly requestStream: boolean;
        readonly responseType: Codec;
        readonly responseStream: boolean;
      }
    >
  >;
}

/** The service for grpc-js, under its own or another name. A response may be a message, or its bytes as a Buffer. */
export function toGrpcService(definition: GenericDefinition, fullName = definition.fullName): grpc.ServiceDefinition {
  return Object.fromEntries(
    Object.entries(definition.methods).map(([key, method]) => [
      key,
      {
        path: `/${fullName}/${method.name}`,
        requestStream: method.requestStream,
        responseStream: method.responseStream,
        requestSerialize: (message: unknown) => Buffer.from(method.requestType.encode(message).finish()),
        requestDeserialize: (bytes: Buffer) => method.requestType.decode(bytes),
        responseSerialize: (message: unknown) =>
          Buffer.isBuffer(message) ? message : Buffer.from(method.responseType.encode(message).finish()),
        responseDeserialize: (bytes: Buffer) => method.responseType.decode(bytes),
      },
    ]),
  );
}
