(require 'seq)

(defun follow-show (message)
  "Show the values or changes in MESSAGE."
  (pcase (alist-get 'type message)
    ("initial" (dolist (entry (alist-get 'values message))
                 (message "%s = %s" (car entry) (json-serialize (cdr entry)))))
    ("change" (seq-doseq (change (alist-get 'changes message))
                (message "%s = %s" (alist-get 'key change) (json-serialize (alist-get 'new change)))))))

(defun follow-filter (process output)
  "Handle the complete lines in OUTPUT, and store the rest in PROCESS."
  (let ((lines (split-string (concat (process-get process 'rest) output) "\n")))
    (process-put process 'rest (car (last lines)))
    (dolist (line (butlast lines))
      (follow-show (json-parse-string line :object-type 'alist)))))

(let ((bridge (make-process :name "defaults" :command '("defaults" "bridge") :connection-type 'pipe
                            :coding 'utf-8-unix :filter #'follow-filter :noquery t)))
  (process-send-string bridge (concat (json-serialize '((request . 1) (type . "subscribe") (from . "snapshot")
    (mode . "latest") (domains . ["org.example.editor"]))) "\n")))
