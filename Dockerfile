# The digest is that of the index of this tag for all architectures: what is built in a year starts from the same bytes.
FROM node:24.21.0-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6 AS node

# Bundles the sources with their libraries. Of this stage dist/ is in the image, without what only the next build
# reads, package.json and LICENSE.
FROM node AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY tsconfig.json ./
COPY scripts ./scripts
COPY src ./src
COPY client ./client
COPY pages ./pages
RUN npm run build && find dist -name '*.map' -delete -o -name bundled.json -delete -o -name made-from -delete
COPY LICENSE ./
# Readable for user 1000 whatever the umask of the build.
RUN chmod -R a+rX dist LICENSE package.json

FROM node
LABEL org.opencontainers.image.title="links-market-gateway" \
      org.opencontainers.image.description="A GraphQL gateway over a link-management API and a marketplace API" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.base.name="docker.io/library/node:24.21.0-slim" \
      org.opencontainers.image.base.digest="sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6"
# A container's loopback is not reachable from outside, so it listens on all addresses. AUTH_MODE is left unset on purpose:
# the made-up data of the sandbox needs none, and a real upstream must not be opened by this file.
ENV NODE_ENV=production HOST=0.0.0.0 PORT=4000 STATE_DIR=state/gateway
WORKDIR /app
COPY --from=build /app/package.json /app/LICENSE ./
COPY --from=build /app/dist ./dist
# What must survive a restart, and all that is ever written: mount a volume here to keep it longer than the container.
# Any user of a container may write here, so the gateway makes a folder of its own in it.
RUN mkdir -m 1777 state
# As a number, by which Kubernetes sees that it is not root.
USER 1000:1000
EXPOSE 4000
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/livez`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# So that `docker run IMAGE check-config` and all other commands work.
ENTRYPOINT ["node", "dist/main.js"]
