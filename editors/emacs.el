;;; Lanescope in Emacs, with eglot (Emacs 29 or newer) or with lsp-mode.

(add-to-list 'auto-mode-alist '("\\.cuh?\\'" . c++-mode))

;; eglot runs one server in a buffer: M-x eglot starts this one where you choose it for a mode.
(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs '((c++-mode c-mode python-mode) . ("lanescope" "lsp")))
  (setq-default eglot-workspace-configuration
                '(:lanescope (:server "http://127.0.0.1:8000" :picture "text"))))

;; lsp-mode runs it beside clangd or another server.
(with-eval-after-load 'lsp-mode
  (lsp-register-client
   (make-lsp-client :new-connection (lsp-stdio-connection '("lanescope" "lsp"))
                    :major-modes '(c++-mode c-mode python-mode)
                    :initialization-options '(:server "http://127.0.0.1:8000" :picture "text")
                    :add-on? t
                    :server-id 'lanescope)))
