# cpusetd as an image: one bundled file on Node, and flock from util-linux (which Debian's base has).
FROM node:22-bookworm-slim AS build
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm install --no-save --no-audit --no-fund
COPY . .
RUN npm run build

FROM node:22-bookworm-slim
COPY --from=build /src/dist/cpusetd.js /usr/local/bin/cpusetd
# Root: it writes the node's cgroups and connects to the runtime's sockets.
ENTRYPOINT ["/usr/local/bin/cpusetd"]
CMD ["run"]
HEALTHCHECK --interval=10s --timeout=3s CMD ["/usr/local/bin/cpusetd", "health", "nri"]
